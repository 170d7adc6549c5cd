#include "capture/packet.hpp"

#include <algorithm>

namespace doxlab::capture {
namespace {

/// Where the transport header begins, and of which protocol it is.
struct NetworkLayer {
  IpAddress source, destination;
  std::uint8_t next_protocol = 0;
  std::size_t header_bytes = 0;
  bool is_later_fragment = false;
  bool has_more_fragments = false;
  BytesView payload;
};

constexpr std::size_t kIpv4HeaderBytes = 20, kIpv6HeaderBytes = 40, kUdpHeaderBytes = 8, kTcpHeaderBytes = 20;

// RFC 791 §3.1.
std::optional<NetworkLayer> parse_ipv4(BytesView packet) {
  ByteReader in(packet);
  const std::size_t header_bytes = (in.u8() & 0xfu) * 4;
  in.skip(1);
  const std::size_t total_bytes = in.u16();
  in.skip(2);
  const std::uint16_t fragment = in.u16();
  in.skip(1);
  NetworkLayer out;
  out.next_protocol = in.u8();
  in.skip(2);
  const auto source = in.take(4), destination = in.take(4);
  if (!in.ok() || header_bytes < kIpv4HeaderBytes || total_bytes < header_bytes ||
      total_bytes > packet.size())
    return std::nullopt;
  out.source = IpAddress::from_octets(source);
  out.destination = IpAddress::from_octets(destination);
  out.header_bytes = header_bytes;
  out.is_later_fragment = (fragment & 0x1fff) != 0;
  out.has_more_fragments = (fragment & 0x2000) != 0;
  out.payload = packet.subspan(header_bytes, total_bytes - header_bytes);
  return out;
}

// Extension headers that a packet may carry before TCP or UDP (RFC 8200 §4, RFC 4302, RFC 6275, RFC 7401, RFC
// 5533).
enum Extension : std::uint8_t {
  HopByHop = 0,
  Routing = 43,
  Fragment = 44,
  Authentication = 51,
  DestinationOptions = 60,
  Mobility = 135,
  Hip = 139,
  Shim6 = 140
};

/// Steps over the extension headers. Each is at least 8 octets, so the walk ends with the packet.
bool skip_extensions(NetworkLayer& layer) {
  while (true) {
    ByteReader in(layer.payload);
    std::size_t length = 8;
    switch (layer.next_protocol) {
      case HopByHop:
      case Routing:
      case DestinationOptions:
      case Mobility:
      case Hip:
      case Shim6: {
        layer.next_protocol = in.u8();
        length = (in.u8() + 1u) * 8;
        break;
      }
      case Authentication:
        layer.next_protocol = in.u8();
        length = (in.u8() + 2u) * 4;
        break;
      case Fragment: {
        layer.next_protocol = in.u8();
        in.skip(1);
        const auto offset_and_flag = in.u16();
        layer.is_later_fragment = (offset_and_flag & 0xfff8) != 0;
        layer.has_more_fragments = (offset_and_flag & 1) != 0;
        break;
      }
      default:
        return true;
    }
    if (!in.ok() || length > layer.payload.size()) return false;
    layer.header_bytes += length;
    layer.payload = layer.payload.subspan(length);
    // What follows in a later fragment is the middle of something.
    if (layer.is_later_fragment) return true;
  }
}

// RFC 8200 §3. Jumbograms (payload length 0) are not taken: no device here carries them.
std::optional<NetworkLayer> parse_ipv6(BytesView packet) {
  ByteReader in(packet);
  in.skip(4);
  const std::size_t payload_bytes = in.u16();
  NetworkLayer out;
  out.next_protocol = in.u8();
  in.skip(1);
  const auto source = in.take(16), destination = in.take(16);
  if (!in.ok() || payload_bytes > in.remaining()) return std::nullopt;
  out.source = IpAddress::from_octets(source);
  out.destination = IpAddress::from_octets(destination);
  out.header_bytes = kIpv6HeaderBytes;
  out.payload = packet.subspan(kIpv6HeaderBytes, payload_bytes);
  if (!skip_extensions(out)) return std::nullopt;
  return out;
}

// RFC 768. The first fragment of a datagram holds less than the length field says.
bool parse_udp(const NetworkLayer& layer, PacketHeaders& out) {
  ByteReader in(layer.payload);
  out.source.port = in.u16();
  out.destination.port = in.u16();
  const std::size_t length = in.u16();
  in.skip(2);
  if (!in.ok() || length < kUdpHeaderBytes) return false;
  const std::size_t payload_bytes = length - kUdpHeaderBytes;
  if (payload_bytes > in.remaining() && !layer.has_more_fragments) return false;
  out.protocol = Protocol::Udp;
  out.transport_header_bytes = kUdpHeaderBytes;
  out.payload = in.take(std::min(payload_bytes, in.remaining()));
  return true;
}

// RFC 9293 §3.1.
bool parse_tcp(const NetworkLayer& layer, PacketHeaders& out) {
  ByteReader in(layer.payload);
  out.source.port = in.u16();
  out.destination.port = in.u16();
  in.skip(8);
  const std::size_t header_bytes = (in.u8() >> 4u) * 4u;
  out.tcp_flags = in.u8();
  if (!in.ok() || header_bytes < kTcpHeaderBytes || header_bytes > layer.payload.size()) return false;
  out.protocol = Protocol::Tcp;
  out.transport_header_bytes = header_bytes;
  out.payload = layer.payload.subspan(header_bytes);
  return true;
}

}  // namespace

std::optional<PacketHeaders> parse_headers(BytesView packet) {
  if (packet.empty()) return std::nullopt;
  const auto version = packet[0] >> 4;
  const auto layer = version == 4 ? parse_ipv4(packet) : version == 6 ? parse_ipv6(packet) : std::nullopt;
  if (!layer) return std::nullopt;
  PacketHeaders out;
  out.source.ip = layer->source;
  out.destination.ip = layer->destination;
  out.ip_header_bytes = layer->header_bytes;
  if (layer->is_later_fragment) {
    out.payload = layer->payload;
    return out;
  }
  const auto protocol = static_cast<Protocol>(layer->next_protocol);
  if (protocol == Protocol::Udp && parse_udp(*layer, out)) return out;
  if (protocol == Protocol::Tcp && parse_tcp(*layer, out)) return out;
  return std::nullopt;
}

}  // namespace doxlab::capture
