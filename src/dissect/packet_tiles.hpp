#pragma once
/// From what was found to the tiles of one packet. Internal.

#include <optional>

#include "capture/packet.hpp"
#include "dissect/flow.hpp"

namespace doxlab::dissect {

/// A packet with its headers. Moving it keeps its views valid.
struct RawPacket {
  BytesView bytes;  ///< all of it; zeros behind what was captured
  Bytes filled;     ///< owns `bytes` if there are such zeros
  std::uint32_t captured = 0, ip_bytes = 0;
  std::optional<capture::PacketHeaders> headers;  ///< empty: neither TCP nor UDP over IP

  std::uint32_t payload_offset() const {
    return static_cast<std::uint32_t>(headers->ip_header_bytes + headers->transport_header_bytes);
  }
  /// The payload without what the capture cut off.
  BytesView captured_payload() const {
    const auto at = payload_offset();
    const auto length = captured > at ? captured - at : 0;
    return headers->payload.first(length < headers->payload.size() ? length : headers->payload.size());
  }
};

/// Fills the tiles of packet `index`. `is_dnscrypt`: its path carries DNSCrypt.
void tile_packet(Dissection& out, std::uint32_t index, const RawPacket& raw, bool is_dnscrypt);

}  // namespace doxlab::dissect
