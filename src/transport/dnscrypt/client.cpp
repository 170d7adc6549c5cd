#include "transport/dnscrypt/client.hpp"

#include <algorithm>

#include "dns/message.hpp"
#include "dns/scan.hpp"
#include "dnscrypt/certificate_message.hpp"

namespace doxlab::transport {
namespace {

/// Queries above this size would be fragmented on common paths, so growing stops here (§5.4.2).
constexpr std::size_t kMaxGrownPacketOctets = 1232;

/// The longest DNS query whose padded packet is allowed.
constexpr std::size_t kMaxQueryOctets = (dnscrypt::kMaxQueryPacketOctets - dnscrypt::kQueryOverheadOctets) /
                                            dnscrypt::kPaddingBlockOctets * dnscrypt::kPaddingBlockOctets -
                                        1;

/// A refresh whose answer is this late is lost: asked again with the next query, whatever the retransmission.
constexpr Duration kRefreshPatience = 5s;

std::uint16_t random_id() {
  const auto octets = dnscrypt::random_octets<2>();
  return static_cast<std::uint16_t>(octets[0] << 8 | octets[1]);
}

}  // namespace

DnscryptClient::DnscryptClient(DnscryptClientOptions options, Bytes provider_name, bool tcp)
    : options_(std::move(options)),
      provider_name_(std::move(provider_name)),
      tcp_(tcp),
      keys_(dnscrypt::KeyPair::generate()),
      min_query_octets_(options_.min_query_octets) {}

QueryHandle DnscryptClient::submit(BytesView query) {
  const QueryHandle handle{++last_handle_};
  const char* problem = nullptr;
  if (ended_) {
    problem = "the session is closed";
  } else if (query.size() < dns::kHeaderOctets) {
    problem = "the query is shorter than a DNS header";
  } else if (query.size() > kMaxQueryOctets) {
    problem = "the query is too long for DNSCrypt";
  } else if (tcp_ && (!unsent_.empty() || !open_.empty())) {
    problem = "DNSCrypt takes one query for each TCP connection";
  }
  if (problem != nullptr) {
    events_.push_back(QueryFailed{handle, problem});
  } else {
    unsent_.push_back({handle, to_bytes(query)});
  }
  return handle;
}

void DnscryptClient::start(Timestamp now) {
  if (started_ || ended_) return;
  started_ = true;
  if (options_.known_certificate.empty()) return;
  auto certificate =
      dnscrypt::choose_certificate(std::span(&options_.known_certificate, 1), options_.provider_key,
                                   options_.clock.at_time(now), options_.es_versions);
  // One that is not usable any more is no failure: the fetch gives another.
  if (certificate) (void)adopt(std::move(*certificate), true, now);
}

bool DnscryptClient::is_usable(Timestamp now) const {
  return channel_ && options_.clock.at_time(now) <= channel_->certificate.end;
}

bool DnscryptClient::wants_certificates(Timestamp now) const {
  return !is_usable(now) || (!tcp_ && now >= channel_->checked + options_.certificate_refresh);
}

Result<void> DnscryptClient::adopt(dnscrypt::Certificate certificate, bool known, Timestamp now) {
  auto key = dnscrypt::SharedKey::derive(certificate.es_version, certificate.resolver_key, keys_);
  if (!key) return fail("the certificate holds a resolver key of low order");
  const auto wire = dnscrypt::compose_certificate(certificate);
  if (!channel_) {
    tls::HandshakeInfo info;
    info.version = "DNSCrypt v2";
    info.group = "X25519";
    info.cipher = dnscrypt::to_string(certificate.es_version);
    info.resumed = known;
    info.peer_certificate_bytes = known ? 0 : wire.size();
    events_.push_back(HandshakeCompleted{std::move(info)});
  }
  if (!known) events_.push_back(TicketReceived{{wire, 0}, {}});
  channel_ = {std::move(certificate), std::make_shared<const dnscrypt::SharedKey>(std::move(*key)), now};
  return {};
}

void DnscryptClient::receive(BytesView input, Timestamp now) {
  if (ended_ || !started_) return;
  if (!tcp_) {
    receive_message(input, now);
    return;
  }
  reader_.feed(input);
  while (!ended_) {
    const auto message = reader_.next();
    if (!message) return;
    receive_message(*message, now);
  }
}

void DnscryptClient::receive_message(BytesView message, Timestamp now) {
  if (!receive_response(message) && !receive_certificates(message, now)) ++dropped_;
}

bool DnscryptClient::receive_response(BytesView packet) {
  const auto nonce = dnscrypt::client_nonce_of_response(packet);
  const auto found = nonce ? open_.find(*nonce) : open_.end();
  if (found == open_.end()) return false;
  auto message = dnscrypt::open_response(packet, *found->second.key);
  if (!message || !dns::is_answer_to(found->second.query, *message)) return false;
  if (!tcp_ && dns::is_truncated(*message)) {
    const auto grown = min_query_octets_ + dnscrypt::kPaddingBlockOctets;
    if (grown + dnscrypt::kQueryOverheadOctets <= kMaxGrownPacketOctets) min_query_octets_ = grown;
  }
  const QueryHandle handle = found->second.handle;
  open_.erase(found);
  // Answered queries leave the list of timers as they come to its front.
  while (!sent_.empty() && !open_.contains(sent_.front().nonce)) sent_.pop_front();
  events_.push_back(ResponseReceived{handle, std::move(*message)});
  if (tcp_) end("", {true, {}});
  return true;
}

bool DnscryptClient::receive_certificates(BytesView message, Timestamp now) {
  if (certificate_query_.empty() || !dns::is_answer_to(certificate_query_, message)) return false;
  certificate_query_.clear();
  certificate_due_.reset();
  certificate_resend_ = false;
  if (channel_) channel_->checked = now;

  Result<void> outcome;
  if (const auto wires = dnscrypt::certificates_of(message, provider_name_); !wires) {
    outcome = std::unexpected(wires.error());
  } else if (auto chosen = dnscrypt::choose_certificate(*wires, options_.provider_key,
                                                        options_.clock.at_time(now), options_.es_versions);
             !chosen) {
    outcome = std::unexpected(chosen.error());
  } else if (!is_usable(now) || chosen->serial > channel_->certificate.serial) {
    outcome = adopt(std::move(*chosen), false, now);
  }
  if (outcome || is_usable(now)) return true;  // a refresh that brings nothing changes nothing
  std::string reason = std::move(outcome.error().message);
  if (!tcp_ && dns::is_truncated(message)) reason += "; the certificate answer is truncated: ask over TCP";
  end(reason, {false, reason});
  return true;
}

void DnscryptClient::receive_end(Timestamp) {
  if (ended_) return;
  const bool waiting = !open_.empty() || !unsent_.empty() || !certificate_query_.empty();
  std::string reason;
  if (waiting) {
    reason = channel_ ? "the server closed the connection before it answered"
                      : "the server closed the connection before it sent its certificate";
  }
  end(reason, {!waiting, reason});
}

std::optional<Timestamp> DnscryptClient::next_timeout() const {
  if (ended_) return std::nullopt;
  auto due = certificate_due_;
  if (!sent_.empty() && (!due || sent_.front().due < *due)) due = sent_.front().due;
  return due;
}

void DnscryptClient::on_timeout(Timestamp now) {
  if (certificate_due_ && *certificate_due_ <= now) {
    certificate_due_.reset();
    certificate_resend_ = true;
  }
  while (!sent_.empty() && (sent_.front().due <= now || !open_.contains(sent_.front().nonce))) {
    if (open_.contains(sent_.front().nonce)) resend_.push_back(sent_.front().nonce);
    sent_.pop_front();
  }
}

std::optional<Bytes> DnscryptClient::poll_output(Timestamp now) {
  if (!started_ || ended_) return std::nullopt;
  // A new session fetches at once, a running one only when it has something to ask.
  const bool wanted = (!channel_ || !unsent_.empty()) && wants_certificates(now);
  const bool asked =
      !certificate_query_.empty() && !(channel_ && now >= certificate_sent_ + kRefreshPatience);
  if (certificate_resend_ || (wanted && !asked)) return send_certificate_query(now);
  while (!resend_.empty()) {
    const auto nonce = resend_.front();
    resend_.pop_front();
    const auto found = open_.find(nonce);
    if (found == open_.end()) continue;  // answered meanwhile
    sent_.push_back({nonce, now + options_.retransmission});
    return found->second.packet;
  }
  if (unsent_.empty() || !is_usable(now)) return std::nullopt;
  Unsent next = std::move(unsent_.front());
  unsent_.pop_front();
  return send_query(std::move(next), now);
}

std::optional<Bytes> DnscryptClient::send_certificate_query(Timestamp now) {
  certificate_resend_ = false;
  if (certificate_query_.empty()) {
    auto query = dnscrypt::compose_certificate_query(options_.provider_name, random_id(),
                                                     options_.certificate_query_octets);
    if (!query) {
      end(query.error().message, {false, query.error().message});
      return std::nullopt;
    }
    certificate_query_ = std::move(*query);
  }
  certificate_sent_ = now;
  if (retransmits()) certificate_due_ = now + options_.retransmission;
  return on_wire(certificate_query_);
}

Bytes DnscryptClient::send_query(Unsent query, Timestamp now) {
  const auto size = tcp_ ? dnscrypt::tcp_query_size(query.query.size(), dnscrypt::random_octets<1>()[0])
                         : dnscrypt::udp_query_size(query.query.size(), min_query_octets_);
  // Random padding must not carry a long query over the limit.
  constexpr auto kLargest = dnscrypt::kMaxQueryPacketOctets - dnscrypt::kQueryOverheadOctets;
  const auto padded = dnscrypt::pad(
      query.query, std::min(size, kLargest / dnscrypt::kPaddingBlockOctets * dnscrypt::kPaddingBlockOctets));
  auto nonce = dnscrypt::random_octets<dnscrypt::kHalfNonceOctets>();
  while (open_.contains(nonce)) nonce = dnscrypt::random_octets<dnscrypt::kHalfNonceOctets>();
  Open& open = open_[nonce];
  open = {query.handle, std::move(query.query), {}, channel_->key};
  open.packet =
      dnscrypt::seal_query(channel_->certificate.client_magic, keys_.public_key, *open.key, nonce, padded);
  if (retransmits()) sent_.push_back({nonce, now + options_.retransmission});
  return on_wire(open.packet);
}

std::optional<Event> DnscryptClient::poll_event() {
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void DnscryptClient::end(const std::string& query_reason, Closed closed) {
  ended_ = true;
  std::vector<QueryHandle> handles;
  for (const auto& [nonce, query] : open_) handles.push_back(query.handle);
  for (const auto& query : unsent_) handles.push_back(query.handle);
  std::ranges::sort(handles);
  for (const QueryHandle handle : handles) events_.push_back(QueryFailed{handle, query_reason});
  open_.clear();
  unsent_.clear();
  sent_.clear();
  resend_.clear();
  certificate_due_.reset();
  certificate_query_.clear();
  events_.push_back(std::move(closed));
}

void DnscryptClient::close(Timestamp) {
  if (!ended_) end("the client closed the session", {true, {}});
}

}  // namespace doxlab::transport
