#pragma once
/// What must hold of every dissection, whatever the octets are. A breach ends the program: a finding.

#include <cstdlib>

#include "dissect/flow.hpp"

namespace doxlab::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// True if the structure that a tile points to is there.
inline bool points_to_something(const dissect::Dissection& dissection, const dissect::Tile& tile) {
  using dissect::TileKind;
  if (tile.item == dissect::kNone) return true;
  switch (tile.kind) {
    case TileKind::TlsHandshake:
      return tile.item < dissection.handshake.size() &&
             tile.part < dissection.handshake[tile.item].parts.size() &&
             tile.item_offset + std::uint64_t{tile.length} <= dissection.handshake[tile.item].length;
    case TileKind::HttpFrameHeader:
    case TileKind::HttpFramePayload:
    case TileKind::HttpDataPadding:
      return tile.item < dissection.http_frames.size();
    default:
      return tile.item < dissection.dns_messages.size();
  }
}

/// The tiles of each packet lie side by side and sum to its IP length.
inline void check_dissection(const dissect::Dissection& dissection) {
  for (const auto& packet : dissection.packets) {
    std::uint64_t at = 0;
    for (const auto& tile : packet.tiles) {
      require(tile.length > 0 && tile.offset == at);
      require(tile.frame == dissect::kNone || tile.frame < dissection.quic_frames.size());
      require(points_to_something(dissection, tile));
      at += tile.length;
    }
    require(at == packet.ip_bytes);
    require(packet.segment == dissect::kNone || packet.segment < dissection.segments.size());
    require(std::uint64_t{packet.first_quic_packet} + packet.quic_packets <= dissection.quic_packets.size());
  }
}

/// The runs of a stream's layout lie side by side; those with an item are of `items` things.
inline void check_layout(const dissect::Layout& layout, std::uint64_t length, std::size_t items) {
  std::uint64_t at = 0;
  layout.slice({0, length}, {}, [&](std::uint64_t begin, std::uint64_t end, const dissect::Label& label) {
    require(begin == at && begin < end);
    require(label.item == dissect::kNone || label.item < items);
    at = end;
  });
  require(at == length);
}

}  // namespace doxlab::fuzz
