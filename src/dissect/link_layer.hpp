#pragma once
/// From a captured frame to the IP packet in it.

#include <cstdint>
#include <optional>

#include "base/bytes.hpp"

namespace doxlab::dissect {

/// Link types of capture files that are read (https://www.tcpdump.org/linktypes.html).
enum class LinkType : std::uint32_t {
  Null = 0,  ///< BSD loopback: address family in the byte order of the capturing host
  Ethernet = 1,
  RawBsd = 12,  ///< raw IP, as some systems number it
  RawOpenBsd = 14,
  Raw = 101,
  Loop = 108,  ///< as Null, in network byte order
  LinuxSll = 113,
  Ipv4 = 228,
  Ipv6 = 229,
  LinuxSll2 = 276,
};
bool is_known(LinkType type);

/// The IP packet of a frame.
struct IpPacket {
  BytesView bytes;             ///< from the IP header on, without trailers of the link; borrows
  std::uint32_t ip_bytes = 0;  ///< its length on the wire; more than `bytes` if the capture cut it
};
/// `wire_bytes`: length of the frame on the wire. VLAN tags are stepped over. Empty: no IP packet, or the
/// capture cut it off before its IP header.
std::optional<IpPacket> strip_link_header(LinkType type, BytesView frame, std::uint32_t wire_bytes);

}  // namespace doxlab::dissect
