#pragma once
/// From what was found to the tiles of one packet. Internal.

#include <optional>

#include "capture/packet.hpp"
#include "dissect/flow.hpp"

namespace doxlab::dissect {

/// A packet with its headers. Moving it keeps its views valid.
struct RawPacket {
  BytesView bytes;  ///< what was captured, at least the headers; zeros for what was cut off of them
  Bytes filled;     ///< owns `bytes` if there are such zeros
  std::uint32_t captured = 0, ip_bytes = 0;
  std::optional<capture::PacketHeaders> headers;  ///< empty: neither TCP nor UDP over IP; payload as captured
  std::uint32_t payload_length = 0;               ///< on the wire

  std::uint32_t payload_offset() const {
    return static_cast<std::uint32_t>(headers->ip_header_bytes + headers->transport_header_bytes);
  }
};

/// Fills the tiles of packet `index`. `is_dnscrypt`: its path carries DNSCrypt.
void tile_packet(Dissection& out, std::uint32_t index, const RawPacket& raw, bool is_dnscrypt);

}  // namespace doxlab::dissect
