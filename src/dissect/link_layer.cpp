#include "dissect/link_layer.hpp"

#include <algorithm>

namespace doxlab::dissect {
namespace {

enum EtherType : std::uint16_t {
  kIpv4 = 0x0800,
  kIpv6 = 0x86dd,
  kVlan = 0x8100,
  kProviderVlan = 0x88a8,
  kOldProviderVlan = 0x9100,
};

/// Steps over VLAN tags; true if IP follows.
bool skip_to_ip(ByteReader& in, std::uint16_t type) {
  while (in.ok() && (type == kVlan || type == kProviderVlan || type == kOldProviderVlan)) {
    in.skip(2);
    type = in.u16();
  }
  return in.ok() && (type == kIpv4 || type == kIpv6);
}

bool skip_header(ByteReader& in, LinkType type) {
  switch (type) {
    case LinkType::Raw:
    case LinkType::RawBsd:
    case LinkType::RawOpenBsd:
    case LinkType::Ipv4:
    case LinkType::Ipv6:
      return true;
    case LinkType::Null:
    case LinkType::Loop:
      in.skip(4);
      return in.ok();
    case LinkType::Ethernet:
      in.skip(12);
      return skip_to_ip(in, in.u16());
    case LinkType::LinuxSll:
      in.skip(14);
      return skip_to_ip(in, in.u16());
    case LinkType::LinuxSll2: {
      const auto protocol = in.u16();
      in.skip(18);
      return skip_to_ip(in, protocol);
    }
  }
  return false;
}

/// What the IP header says; 0: nothing useful, as where the network card cuts segments.
std::uint32_t length_in_header(BytesView packet) {
  ByteReader in(packet);
  const bool is_v6 = packet[0] >> 4 == 6;
  in.skip(is_v6 ? 4 : 2);
  const std::uint32_t length = in.u16();
  if (!in.ok() || length == 0) return 0;
  return is_v6 ? 40 + length : length;
}

}  // namespace

bool is_known(LinkType type) {
  switch (type) {
    case LinkType::Null:
    case LinkType::Ethernet:
    case LinkType::RawBsd:
    case LinkType::RawOpenBsd:
    case LinkType::Raw:
    case LinkType::Loop:
    case LinkType::LinuxSll:
    case LinkType::Ipv4:
    case LinkType::Ipv6:
    case LinkType::LinuxSll2:
      return true;
  }
  return false;
}

std::optional<IpPacket> strip_link_header(LinkType type, BytesView frame, std::uint32_t wire_bytes) {
  ByteReader in(frame);
  if (!skip_header(in, type)) return std::nullopt;
  const auto header = static_cast<std::uint32_t>(in.position());
  const auto bytes = in.rest();
  if (bytes.empty() || (bytes[0] >> 4 != 4 && bytes[0] >> 4 != 6)) return std::nullopt;
  const auto on_wire = std::max(wire_bytes, static_cast<std::uint32_t>(frame.size())) - header;
  const auto told = length_in_header(bytes);
  // Shorter than the frame: the rest is the link's padding. Longer: the header lies, or the wire length does.
  const auto ip_bytes = told != 0 && told <= on_wire ? told : on_wire;
  return IpPacket{bytes.first(std::min<std::size_t>(bytes.size(), ip_bytes)), ip_bytes};
}

}  // namespace doxlab::dissect
