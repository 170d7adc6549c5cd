#include "quic/endpoint.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "quic/endpoint_state.hpp"

namespace doxlab::quic {
namespace {

// After so many datagrams of one connection in a row, another has its turn.
constexpr std::size_t kBurst = 16;

}  // namespace

Endpoint::Endpoint(const tls::ServerContext& context, EndpointOptions options)
    : state_(std::make_unique<State>(context, std::move(options))) {}
Endpoint::~Endpoint() = default;

void Endpoint::receive(const SocketAddress& local, const SocketAddress& peer, BytesView datagram,
                       Timestamp now) {
  state_->receive(local, peer, datagram, now);
}

void Endpoint::on_timeout(Timestamp now) {
  state_->on_timeout(now);
}

std::optional<Timestamp> Endpoint::next_timeout() const {
  if (state_->timers_.empty()) return std::nullopt;
  return state_->timers_.begin()->first;
}

std::optional<Datagram> Endpoint::poll_datagram(Timestamp now) {
  return state_->poll_datagram(now);
}
std::optional<ConnectionKey> Endpoint::poll_ready() {
  return state_->poll_ready();
}

Connection* Endpoint::find(ConnectionKey key) {
  const auto found = state_->entries_.find(key);
  if (found == state_->entries_.end()) return nullptr;
  state_->mark_dirty(key, found->second);  // whoever asks for it is about to use it
  return found->second.connection.get();
}

void Endpoint::touch(ConnectionKey key) {
  if (const auto found = state_->entries_.find(key); found != state_->entries_.end()) {
    state_->mark_dirty(key, found->second);
  }
}

std::size_t Endpoint::connections() const {
  return state_->entries_.size() - state_->dead_.size();
}

void Endpoint::close_all(std::uint64_t application_code, Timestamp now) {
  for (auto& [key, entry] : state_->entries_) {
    entry.state->close(application_code, {}, now);
    state_->mark_dirty(key, entry);
    state_->settle(key, entry);
  }
}

Endpoint::State::State(const tls::ServerContext& context, EndpointOptions options)
    : tls_(context), options_(std::move(options)) {
  if (const auto checked = internal::check_options(options_.connection); !checked) {
    throw std::runtime_error(checked.error().message);
  }
  internal::initialize_library();
}

void Endpoint::State::receive(const SocketAddress& local, const SocketAddress& peer, BytesView datagram,
                              Timestamp now) {
  bury_the_dead();
  if (datagram.empty()) return;
  ngtcp2_version_cid header;
  switch (ngtcp2_pkt_decode_version_cid(&header, datagram.data(), datagram.size(),
                                        internal::kConnectionIdBytes)) {
    case 0:
      break;
    case NGTCP2_ERR_VERSION_NEGOTIATION:  // only for datagrams of 1200 bytes and more (RFC 9000 §6.1)
      answer_unknown_version(peer, {header.scid, header.scidlen}, {header.dcid, header.dcidlen});
      return;
    default:
      return;
  }
  const auto id = ids_.find(Bytes(header.dcid, header.dcid + header.dcidlen));
  if (id == ids_.end()) {
    admit(local, peer, datagram, now);
    return;
  }
  const ConnectionKey key = id->second;
  const auto entry = entries_.find(key);
  const int verdict = entry->second.state->receive(local, peer, datagram, now);
  if (verdict == NGTCP2_ERR_DROP_CONN || verdict == NGTCP2_ERR_RETRY) {
    erase(key);
    return;
  }
  mark_dirty(key, entry->second);
  settle(key, entry->second);
}

void Endpoint::State::on_timeout(Timestamp now) {
  bury_the_dead();
  std::vector<ConnectionKey> due;
  for (auto at = timers_.begin(); at != timers_.end() && at->first <= now; ++at) due.push_back(at->second);
  for (const ConnectionKey key : due) {
    const auto entry = entries_.find(key);
    if (entry == entries_.end()) continue;
    entry->second.state->on_timeout(now);
    mark_dirty(key, entry->second);
    settle(key, entry->second);
  }
}

std::optional<Datagram> Endpoint::State::poll_datagram(Timestamp now) {
  if (!stateless_.empty()) {
    Datagram datagram = std::move(stateless_.front());
    stateless_.pop_front();
    return datagram;
  }
  while (!dirty_.empty()) {
    const ConnectionKey key = dirty_.front();
    const auto entry = entries_.find(key);
    if (entry == entries_.end()) {
      dirty_.pop_front();
      burst_ = 0;
      continue;
    }
    if (auto out = entry->second.state->poll(now)) {
      if (++burst_ >= kBurst) {
        dirty_.pop_front();
        dirty_.push_back(key);
        burst_ = 0;
      }
      return Datagram{out->remote, std::move(out->payload)};
    }
    dirty_.pop_front();
    burst_ = 0;
    entry->second.dirty = false;
    settle(key, entry->second);
  }
  return std::nullopt;
}

std::optional<ConnectionKey> Endpoint::State::poll_ready() {
  while (!ready_.empty()) {
    const ConnectionKey key = ready_.front();
    ready_.pop_front();
    const auto entry = entries_.find(key);
    if (entry == entries_.end()) continue;
    entry->second.ready = false;
    if (entry->second.state->has_events()) return key;
  }
  return std::nullopt;
}

void Endpoint::State::mark_dirty(ConnectionKey key, Entry& entry) {
  if (std::exchange(entry.dirty, true)) return;
  dirty_.push_back(key);
}

void Endpoint::State::settle(ConnectionKey key, Entry& entry) {
  const internal::ConnectionState& state = *entry.state;
  if (entry.half_open && (state.handshake_completed() || !state.is_active())) {
    entry.half_open = false;
    --half_open_;
  }
  if (state.has_events() && !std::exchange(entry.ready, true)) ready_.push_back(key);
  if (const auto due = state.next_timeout(); due != entry.armed) {
    if (entry.armed) timers_.erase({*entry.armed, key});
    if (due) timers_.insert({*due, key});
    entry.armed = due;
  }
  if (state.is_dead() && !std::exchange(entry.doomed, true)) dead_.push_back(key);
}

void Endpoint::State::bury_the_dead() {
  std::erase_if(dead_, [this](ConnectionKey key) {
    const auto entry = entries_.find(key);
    if (entry != entries_.end() && entry->second.state->has_events()) return false;
    erase(key);
    return true;
  });
}

void Endpoint::State::erase(ConnectionKey key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  if (entry.armed) timers_.erase({*entry.armed, key});
  if (entry.half_open) --half_open_;
  for (const Bytes& id : entry.ids) ids_.erase(id);
  entry.ids.clear();
  entries_.erase(found);
}

void Endpoint::State::id_issued(std::uint64_t key, const ngtcp2_cid& id) {
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) return;
  Bytes octets = internal::to_bytes(id);
  if (ids_.emplace(octets, key).second) entry->second.ids.push_back(std::move(octets));
}

void Endpoint::State::id_retired(std::uint64_t key, const ngtcp2_cid& id) {
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) return;
  const Bytes octets = internal::to_bytes(id);
  if (std::erase(entry->second.ids, octets) > 0) ids_.erase(octets);
}

bool Endpoint::State::make_reset_token(const ngtcp2_cid& id, ngtcp2_stateless_reset_token& out) {
  return tokens_.make_reset(id, out);
}

Bytes Endpoint::State::make_address_token(const SocketAddress& remote, ngtcp2_tstamp now) {
  if (!options_.send_new_token) return {};
  return tokens_.make_regular(remote, now);
}

}  // namespace doxlab::quic
