#include "dissect/flow.hpp"

#include <algorithm>
#include <set>

#include "dissect/applications.hpp"
#include "dissect/packet_tiles.hpp"

namespace doxlab::dissect {
namespace {

using capture::Protocol;
using link::Direction;

constexpr std::uint16_t kFirstUserPort = 1024;

/// Both addresses of a path, whichever way a packet goes.
using PathKey = std::pair<SocketAddress, SocketAddress>;
PathKey path_of(const RawPacket& raw) {
  return std::minmax(raw.headers->source, raw.headers->destination);
}

/// Datagrams come from whoever is not at a well-known port; the first sender of a path asks.
class PathGuess {
 public:
  Direction direction(const RawPacket& raw, const std::optional<Direction>& known) {
    const auto& source = raw.headers->source;
    const auto [found, is_new] = clients_.try_emplace(path_of(raw), source);
    if (known) return *known;
    const auto destination_port = raw.headers->destination.port;
    if (is_new && source.port < kFirstUserPort && destination_port >= kFirstUserPort)
      found->second = raw.headers->destination;
    return found->second == source ? Direction::ToServer : Direction::ToClient;
  }

 private:
  std::map<PathKey, SocketAddress> clients_;
};

/// A packet that is cut off is filled up with zeros for as long as its headers are read.
RawPacket read_raw(const ObservedPacket& packet, Bytes& filled) {
  RawPacket raw;
  raw.ip_bytes = std::max<std::uint32_t>(packet.ip_bytes, static_cast<std::uint32_t>(packet.bytes.size()));
  raw.captured = static_cast<std::uint32_t>(packet.bytes.size());
  raw.bytes = packet.bytes;
  constexpr std::uint32_t kMaxIpBytes = 65'575;  // an IPv6 header and 65,535 octets behind it
  if (raw.captured == raw.ip_bytes || raw.ip_bytes > kMaxIpBytes) {
    raw.headers = capture::parse_headers(raw.bytes);
    if (raw.headers) raw.payload_length = static_cast<std::uint32_t>(raw.headers->payload.size());
    return raw;
  }
  filled.assign(packet.bytes.begin(), packet.bytes.end());
  filled.resize(raw.ip_bytes);
  raw.headers = capture::parse_headers(filled);
  if (!raw.headers) return raw;
  raw.payload_length = static_cast<std::uint32_t>(raw.headers->payload.size());
  if (raw.captured < raw.payload_offset()) {
    raw.filled.assign(filled.begin(), filled.begin() + raw.payload_offset());
    raw.bytes = raw.filled;
  }
  const auto payload = raw.bytes.subspan(raw.payload_offset());
  raw.headers->payload = payload.first(std::min<std::size_t>(payload.size(), raw.payload_length));
  return raw;
}

void add_tcp(TcpDissector& tcp, const ObservedPacket& packet, const RawPacket& raw, std::uint32_t index,
             DissectedPacket& out) {
  const auto header_at = raw.headers->ip_header_bytes;
  out.segment = tcp.add({.packet = index,
                         .header = raw.bytes.subspan(header_at, raw.headers->transport_header_bytes),
                         .payload_offset = raw.payload_offset(),
                         .payload_length = raw.payload_length,
                         .payload = raw.headers->payload,
                         .source = raw.headers->source,
                         .destination = raw.headers->destination,
                         .direction = packet.direction,
                         .delivered = packet.delivered});
  out.direction = tcp.segments.back().direction;
}

bool add_quic(QuicDissector& quic, const ObservedPacket& packet, const RawPacket& raw, std::uint32_t index,
              DissectedPacket& out) {
  if (raw.headers->source.port == kDnsPort || raw.headers->destination.port == kDnsPort) return false;
  out.first_quic_packet = static_cast<std::uint32_t>(quic.packets.size());
  const bool is_quic = quic.add({.packet = index,
                                 .offset = raw.payload_offset(),
                                 .payload = raw.headers->payload,
                                 .source = raw.headers->source,
                                 .destination = raw.headers->destination,
                                 .direction = packet.direction,
                                 .delivered = packet.delivered});
  out.quic_packets = static_cast<std::uint32_t>(quic.packets.size()) - out.first_quic_packet;
  if (out.quic_packets > 0) out.direction = quic.packets.back().direction;
  return is_quic;
}

}  // namespace

std::vector<ObservedPacket> observe(std::span<const capture::RecordedPacket> packets) {
  std::vector<ObservedPacket> out;
  out.reserve(packets.size());
  for (const auto& packet : packets)
    out.push_back({.bytes = packet.bytes,
                   .ip_bytes = static_cast<std::uint32_t>(packet.bytes.size()),
                   .sent = packet.sent,
                   .delivered = packet.corrupted ? std::nullopt : packet.delivered,
                   .direction = packet.place.direction});
  return out;
}

Dissection dissect(std::span<const ObservedPacket> packets, const KeyLog& keys) {
  Dissection out;
  QuicDissector quic(keys, *out.budget, out.handshake);
  TcpDissector tcp(*out.budget);
  Bytes filled;
  std::vector<RawPacket> raw;
  raw.reserve(packets.size());
  std::set<PathKey> dnscrypt_paths;
  PathGuess guess;
  for (std::uint32_t i = 0; i < packets.size(); ++i) {
    raw.push_back(read_raw(packets[i], filled));
    auto& here = raw.back();
    auto& packet = out.packets.emplace_back();
    packet.ip_bytes = here.ip_bytes;
    packet.captured_bytes = here.captured;
    packet.direction = packets[i].direction;
    if (!here.headers) continue;
    packet.source = here.headers->source;
    packet.destination = here.headers->destination;
    packet.protocol = here.headers->protocol;
    if (packet.protocol == Protocol::Tcp) {
      add_tcp(tcp, packets[i], here, i, packet);
    } else if (packet.protocol == Protocol::Udp && !add_quic(quic, packets[i], here, i, packet)) {
      packet.direction = guess.direction(here, packets[i].direction);
      if (shows_dnscrypt(here.headers->payload)) dnscrypt_paths.insert(path_of(here));
    }
  }
  quic.finish();
  tcp.finish();
  out.quic_packets = std::move(quic.packets);
  out.quic_frames = std::move(quic.frames);
  out.quic_connections = std::move(quic.connections);
  out.segments = std::move(tcp.segments);
  out.tcp_connections = std::move(tcp.connections);
  for (std::uint32_t c = 0; c < out.quic_connections.size(); ++c) read_quic_streams(out, c);
  for (std::uint32_t c = 0; c < out.tcp_connections.size(); ++c) read_tcp_streams(out, c, keys);
  for (std::uint32_t i = 0; i < packets.size(); ++i)
    tile_packet(out, i, raw[i], raw[i].headers && dnscrypt_paths.contains(path_of(raw[i])));
  return out;
}

}  // namespace doxlab::dissect
