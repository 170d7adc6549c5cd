#pragma once
/// A packet as the recorder saw it, and the headers that flows are made of.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/address.hpp"
#include "base/bytes.hpp"
#include "base/time.hpp"
#include "link/path.hpp"

namespace doxlab::capture {

enum class Protocol : std::uint8_t { Tcp = 6, Udp = 17, Other = 0 };

/// One packet of a lookup, from IP header to the end.
struct RecordedPacket {
  std::uint64_t lookup = 0;            ///< the recorder's key of the lookup; 0: belongs to none
  link::PacketPlace place;             ///< coordinates of its draws
  Timestamp sent;                      ///< read from the sender's device
  Timestamp due;                       ///< when it should have left the link; meaningful if delivered
  std::optional<Timestamp> delivered;  ///< written to the receiver's device; empty if it never was
  link::Fate fate = link::Fate::Delivered;
  bool duplicate = false;  ///< the second copy of a duplicated packet
  bool corrupted = false;  ///< delivered with one bit flipped, so the receiver discards it
  Bytes bytes;             ///< as sent (before corruption)
};

/// What identifies a flow and where its payload is.
struct PacketHeaders {
  SocketAddress source, destination;
  Protocol protocol = Protocol::Other;
  std::size_t ip_header_bytes = 0;         ///< with IPv6 extension headers
  std::size_t transport_header_bytes = 0;  ///< UDP 8, TCP 20 to 60
  std::uint8_t tcp_flags = 0;              ///< as on the wire: FIN 1, SYN 2, RST 4, PSH 8, ACK 16
  BytesView payload;                       ///< borrows from the packet
};

/// Reads IPv4 or IPv6 and TCP or UDP headers. Empty for anything malformed, truncated, or neither;
/// fragments other than the first have no ports and give Protocol::Other.
std::optional<PacketHeaders> parse_headers(BytesView packet);

}  // namespace doxlab::capture
