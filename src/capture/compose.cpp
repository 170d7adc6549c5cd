#include "capture/compose.hpp"

#include <algorithm>

#include "capture/packet.hpp"

namespace doxlab::capture {
namespace {

constexpr std::size_t kComposedIpv4Bytes = 20, kComposedUdpBytes = 8;
constexpr std::uint8_t kUdp = 17, kHopLimit = 64;
constexpr std::uint8_t kFin = 1, kPsh = 8, kCwr = 0x80;

/// RFC 1071: the ones' complement sum of 16-bit words, not yet complemented.
class ChecksumSum {
 public:
  void add(std::uint32_t word) { sum_ += word; }
  void add(BytesView bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) sum_ += i % 2 == 0 ? std::uint32_t{bytes[i]} << 8 : bytes[i];
  }
  std::uint16_t checksum() const {
    auto folded = sum_;
    while (folded > 0xffff) folded = (folded & 0xffff) + (folded >> 16);
    return static_cast<std::uint16_t>(~folded);
  }

 private:
  std::uint64_t sum_ = 0;
};

void put_u16(Bytes& bytes, std::size_t at, std::size_t value) {
  bytes[at] = static_cast<std::uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<std::uint8_t>(value);
}

void put_u32(Bytes& bytes, std::size_t at, std::uint32_t value) {
  put_u16(bytes, at, value >> 16);
  put_u16(bytes, at + 2, value & 0xffff);
}

std::uint32_t get_u32(BytesView bytes, std::size_t at) { return ByteReader(bytes.subspan(at)).u32(); }

/// What the IP header says of the packet's length; 0: it says nothing, as where several packets are too long for it.
std::size_t stated_length(BytesView packet) {
  if (packet.empty()) return 0;
  const bool v6 = packet[0] >> 4 == 6;
  if (packet.size() < (v6 ? 40u : 20u)) return 0;
  const std::size_t field = ByteReader(packet.subspan(v6 ? 4 : 2)).u16();
  return v6 && field != 0 ? field + 40 : field;
}

void write_ipv4(ByteWriter& out, const SocketAddress& source, const SocketAddress& destination, std::size_t length) {
  ByteWriter header;
  header.u16(0x4500);
  header.u16(static_cast<std::uint16_t>(length));
  header.u32(0x4000);  // identification 0, not to be fragmented
  header.u8(kHopLimit);
  header.u8(kUdp);
  header.u16(0);
  header.append(source.ip.octets());
  header.append(destination.ip.octets());
  ChecksumSum sum;
  sum.add(BytesView(header.bytes()));
  auto bytes = header.take();
  put_u16(bytes, 10, sum.checksum());
  out.append(bytes);
}

void write_ipv6(ByteWriter& out, const SocketAddress& source, const SocketAddress& destination, std::size_t payload_bytes) {
  out.u32(0x60000000);
  out.u16(static_cast<std::uint16_t>(payload_bytes));
  out.u8(kUdp);
  out.u8(kHopLimit);
  out.append(source.ip.octets());
  out.append(destination.ip.octets());
}

}  // namespace

Bytes compose_datagram(const SocketAddress& source, const SocketAddress& destination, BytesView payload) {
  const auto udp_bytes = kComposedUdpBytes + payload.size();
  ByteWriter out;
  if (source.ip.is_v6()) write_ipv6(out, source, destination, udp_bytes);
  else write_ipv4(out, source, destination, kComposedIpv4Bytes + udp_bytes);
  ChecksumSum sum;  // over a pseudo header (RFC 768, RFC 8200 section 8.1)
  sum.add(source.ip.octets());
  sum.add(destination.ip.octets());
  sum.add(kUdp);
  sum.add(static_cast<std::uint32_t>(2 * udp_bytes));
  sum.add(source.port);
  sum.add(destination.port);
  sum.add(payload);
  out.u16(source.port);
  out.u16(destination.port);
  out.u16(static_cast<std::uint16_t>(udp_bytes));
  out.u16(sum.checksum() == 0 ? 0xffff : sum.checksum());
  out.append(payload);
  return out.take();
}

std::vector<Bytes> split_segments(BytesView packet, std::size_t segment_bytes) {
  const auto stated = stated_length(packet);
  if (stated > packet.size() || (stated == 0 && segment_bytes == 0)) return {};
  Bytes whole = to_bytes(stated == 0 ? packet : packet.first(stated));
  if (segment_bytes == 0) return {std::move(whole)};
  // The header alone says where the payload begins, whatever length the packet states.
  const auto described = std::min<std::size_t>(whole.size(), 60'000);
  Bytes head(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(described));
  const bool v6 = !head.empty() && head[0] >> 4 == 6;
  if (head.size() < (v6 ? 40 : kComposedIpv4Bytes)) return {};
  put_u16(head, v6 ? 4 : 2, v6 ? described - 40 : described);
  const bool is_udp = (v6 ? head[6] : head[9]) == kUdp;
  const std::size_t ip_bytes = v6 ? 40 : (head[0] & 0xfu) * 4u;
  if (is_udp && head.size() >= ip_bytes + kComposedUdpBytes) put_u16(head, ip_bytes + 4, described - ip_bytes);
  const auto headers = parse_headers(head);
  if (!headers || headers->protocol == Protocol::Other) return {};
  const auto ip_header = headers->ip_header_bytes, header = ip_header + headers->transport_header_bytes;
  const BytesView payload = BytesView(whole).subspan(header);
  std::vector<Bytes> out;
  for (std::size_t at = 0; at < payload.size() || at == 0; at += segment_bytes) {
    const auto part = payload.subspan(at, std::min(segment_bytes, payload.size() - at));
    const bool is_first = at == 0, is_last = at + part.size() == payload.size();
    auto& segment = out.emplace_back(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(header));
    segment.insert(segment.end(), part.begin(), part.end());
    put_u16(segment, v6 ? 4 : 2, v6 ? segment.size() - 40 : segment.size());
    if (!v6) put_u16(segment, 4, get_u32(whole, 4) / 0x10000 + out.size() - 1);
    if (headers->protocol == Protocol::Udp) {
      put_u16(segment, ip_header + 4, segment.size() - ip_header);
    } else {
      put_u32(segment, ip_header + 4, get_u32(whole, ip_header + 4) + static_cast<std::uint32_t>(at));
      auto& flags = segment[ip_header + 13];
      if (!is_last) flags &= static_cast<std::uint8_t>(~(kFin | kPsh));
      if (!is_first) flags &= static_cast<std::uint8_t>(~kCwr);
    }
  }
  return out;
}

}  // namespace doxlab::capture
