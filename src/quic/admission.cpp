// Datagrams that belong to no connection: new clients, unknown versions, forgotten connections.

#include <ngtcp2/ngtcp2_crypto.h>

#include <algorithm>
#include <array>

#include "quic/endpoint_state.hpp"

namespace doxlab::quic {
namespace {

constexpr std::size_t kMaxStateless = 1024;  // answers that wait for the socket; more are not made
constexpr double kResetsPerSecond = 100;     // RFC 9000 §10.3.3: limit the rate
constexpr std::size_t kMinResetBytes = 21;   // RFC 9000 §10.3: shorter ones are not recognised
constexpr std::size_t kMaxResetBytes = 43;   // what a short packet might well have

ngtcp2_cid to_cid(BytesView octets) {
  ngtcp2_cid id;
  ngtcp2_cid_init(&id, octets.data(), std::min<std::size_t>(octets.size(), NGTCP2_MAX_CIDLEN));
  return id;
}

}  // namespace

void Endpoint::State::admit(const SocketAddress& local, const SocketAddress& peer, BytesView datagram,
                            Timestamp now) {
  if ((datagram[0] & 0x80) == 0) {
    reset_stateless(peer, datagram, now);
    return;
  }
  ngtcp2_pkt_hd header;
  // Refuses what is no Initial, shorter than 1200 bytes (§14.1), or has a Destination Connection ID below 8
  // octets without a token (§7.2).
  if (ngtcp2_accept(&header, datagram.data(), datagram.size()) != 0) return;

  internal::ServerParameters parameters;
  parameters.version = header.version;
  parameters.client_id = header.scid;
  parameters.original_destination = header.dcid;
  parameters.local = local;
  parameters.remote = peer;
  const BytesView token{header.token, header.tokenlen};
  switch (
      tokens_.check(token, header.version, peer, header.dcid, to_ns(now), parameters.original_destination)) {
    case internal::TokenVerdict::Retry:
      parameters.retry_source = header.dcid;
      parameters.token = token;
      parameters.token_type = NGTCP2_TOKEN_TYPE_RETRY;
      break;
    case internal::TokenVerdict::Regular:
      parameters.token = token;
      parameters.token_type = NGTCP2_TOKEN_TYPE_NEW_TOKEN;
      break;
    case internal::TokenVerdict::Invalid:
      refuse(peer, header, NGTCP2_INVALID_TOKEN);
      return;
    case internal::TokenVerdict::Unknown:
      // A short connection ID came through only because of a token that is worth nothing.
      if (header.dcid.datalen < NGTCP2_MIN_INITIAL_DCIDLEN) return;
      parameters.original_destination = header.dcid;
      if (options_.retry == RetryPolicy::Always || half_open_ >= options_.max_half_open) {
        send_retry(peer, header, now);
        return;
      }
      break;
  }
  if (entries_.size() >= options_.max_connections) {
    refuse(peer, header, NGTCP2_CONNECTION_REFUSED);
    return;
  }
  create(parameters, header, datagram, now);
}

void Endpoint::State::create(const internal::ServerParameters& parameters, const ngtcp2_pkt_hd& header,
                             BytesView datagram, Timestamp now) {
  const ConnectionKey key = next_key_++;
  internal::ServerParameters with_hooks = parameters;
  with_hooks.hooks = this;
  with_hooks.key = key;
  auto made = internal::ConnectionState::make_server(tls_, options_.connection, with_hooks, now);
  if (!made) return;  // no memory or no randomness: the client will try again
  Entry& entry = entries_[key];
  entry.state = made->get();
  entry.connection = std::make_unique<Connection>(std::move(*made));
  ++half_open_;
  id_issued(key, entry.state->source_id());
  id_issued(key, header.dcid);
  const int verdict = entry.state->receive(parameters.local, parameters.remote, datagram, now);
  if (verdict == NGTCP2_ERR_DROP_CONN || verdict == NGTCP2_ERR_RETRY) {
    erase(key);
    // A later part of a long ClientHello came first, and the address is not proven: nothing may be kept.
    if (verdict == NGTCP2_ERR_RETRY) send_retry(parameters.remote, header, now);
    return;
  }
  mark_dirty(key, entry);
  settle(key, entry);
}

void Endpoint::State::answer_unknown_version(const SocketAddress& peer, BytesView client_source,
                                             BytesView client_destination) {
  std::uint8_t random = 0;
  if (!internal::fill_random({&random, 1})) return;
  // A reserved version keeps clients honest about versions that they do not know (RFC 9000 §6.3).
  const std::array<std::uint32_t, 3> versions = {NGTCP2_PROTO_VER_V1, NGTCP2_PROTO_VER_V2,
                                                 0x0a0a0a0au | (std::uint32_t{random} & 0xf0u)};
  Bytes packet(1 + 4 + 1 + client_source.size() + 1 + client_destination.size() + 4 * versions.size());
  const ngtcp2_ssize length = ngtcp2_pkt_write_version_negotiation(
      packet.data(), packet.size(), random, client_source.data(), client_source.size(),
      client_destination.data(), client_destination.size(), versions.data(), versions.size());
  if (length <= 0) return;
  packet.resize(static_cast<std::size_t>(length));
  queue_stateless(peer, std::move(packet));
}

void Endpoint::State::send_retry(const SocketAddress& peer, const ngtcp2_pkt_hd& header, Timestamp now) {
  ngtcp2_cid source{};
  source.datalen = internal::kConnectionIdBytes;
  if (!internal::fill_random({source.data, source.datalen})) return;
  const Bytes token = tokens_.make_retry(header.version, peer, source, header.dcid, to_ns(now));
  if (token.empty()) return;
  Bytes packet(NGTCP2_MAX_UDP_PAYLOAD_SIZE);
  const ngtcp2_ssize length =
      ngtcp2_crypto_write_retry(packet.data(), packet.size(), header.version, &header.scid, &source,
                                &header.dcid, token.data(), token.size());
  if (length <= 0) return;
  packet.resize(static_cast<std::size_t>(length));
  queue_stateless(peer, std::move(packet));
}

void Endpoint::State::refuse(const SocketAddress& peer, const ngtcp2_pkt_hd& header,
                             std::uint64_t transport_error) {
  Bytes packet(NGTCP2_MAX_UDP_PAYLOAD_SIZE);
  const ngtcp2_ssize length = ngtcp2_crypto_write_connection_close(
      packet.data(), packet.size(), header.version, &header.scid, &header.dcid, transport_error, nullptr, 0);
  if (length <= 0) return;
  packet.resize(static_cast<std::size_t>(length));
  queue_stateless(peer, std::move(packet));
}

void Endpoint::State::reset_stateless(const SocketAddress& peer, BytesView datagram, Timestamp now) {
  // Shorter than what triggered it, so that two ends that know nothing cannot keep each other busy.
  if (datagram.size() <= kMinResetBytes) return;
  const double elapsed = std::chrono::duration<double>(now - reset_refilled_).count();
  if (elapsed > 0) {
    reset_tokens_ = std::min(kResetBurst, reset_tokens_ + elapsed * kResetsPerSecond);
    reset_refilled_ = now;
  }
  if (reset_tokens_ < 1) return;
  ngtcp2_stateless_reset_token token;
  if (!tokens_.make_reset(to_cid(datagram.subspan(1, internal::kConnectionIdBytes)), token)) return;
  Bytes packet(std::min(datagram.size() - 1, kMaxResetBytes));
  std::array<std::uint8_t, kMaxResetBytes - NGTCP2_STATELESS_RESET_TOKENLEN> random;
  if (!internal::fill_random(random)) return;
  const ngtcp2_ssize length = ngtcp2_pkt_write_stateless_reset2(
      packet.data(), packet.size(), &token, random.data(), packet.size() - NGTCP2_STATELESS_RESET_TOKENLEN);
  if (length <= 0) return;
  packet.resize(static_cast<std::size_t>(length));
  reset_tokens_ -= 1;
  queue_stateless(peer, std::move(packet));
}

void Endpoint::State::queue_stateless(const SocketAddress& peer, Bytes payload) {
  if (stateless_.size() < kMaxStateless) stateless_.push_back({peer, std::move(payload)});
}

}  // namespace doxlab::quic
