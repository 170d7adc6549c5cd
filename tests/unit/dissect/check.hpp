#pragma once
/// What must hold of every dissection, and sums over its tiles.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "dissect/flow.hpp"

namespace doxlab::dissect::test {

/// Tiles lie side by side and sum to the packet's IP length; what they point to exists.
inline void expect_exact(const Dissection& dissection) {
  for (std::size_t i = 0; i < dissection.packets.size(); ++i) {
    const auto& packet = dissection.packets[i];
    std::uint32_t at = 0;
    for (const auto& tile : packet.tiles) {
      EXPECT_EQ(tile.offset, at) << "packet " << i << " " << to_string(tile.kind);
      EXPECT_GT(tile.length, 0u) << "packet " << i << " " << to_string(tile.kind);
      at += tile.length;
      if (tile.frame != kNone) {
        EXPECT_LT(tile.frame, dissection.quic_frames.size());
      }
      if (tile.item == kNone) continue;
      switch (tile.kind) {
        case TileKind::TlsHandshake:
          ASSERT_LT(tile.item, dissection.handshake.size());
          EXPECT_LT(tile.part, dissection.handshake[tile.item].parts.size());
          EXPECT_LE(tile.item_offset + tile.length, dissection.handshake[tile.item].length);
          break;
        case TileKind::HttpFrameHeader:
        case TileKind::HttpFramePayload:
          EXPECT_LT(tile.item, dissection.http_frames.size());
          break;
        default:
          EXPECT_LT(tile.item, dissection.dns_messages.size()) << to_string(tile.kind);
          break;
      }
    }
    EXPECT_EQ(at, packet.ip_bytes) << "packet " << i;
  }
}

/// Octets of each kind; `fresh`: only those that were sent for the first time.
inline std::map<TileKind, std::uint64_t> octets_by_kind(const Dissection& dissection, bool fresh = false) {
  std::map<TileKind, std::uint64_t> out;
  for (const auto& packet : dissection.packets)
    for (const auto& tile : packet.tiles)
      if (!fresh || !tile.repeated) out[tile.kind] += tile.length;
  return out;
}

/// Nothing was left without a name of its own.
inline void expect_all_read(const Dissection& dissection) {
  const auto octets = octets_by_kind(dissection);
  for (const auto kind : {TileKind::Unreadable, TileKind::UdpPayload, TileKind::TcpPayload,
                          TileKind::TlsCiphertext, TileKind::TlsApplicationData, TileKind::QuicCryptoData,
                          TileKind::QuicStreamData, TileKind::QuicMalformed, TileKind::QuicCiphertext,
                          TileKind::DnsMalformed, TileKind::IpTrailer, TileKind::NotCaptured})
    EXPECT_FALSE(octets.contains(kind)) << to_string(kind) << " " << octets.at(kind);
}

/// Each octet of each complete handshake message was sent for the first time exactly once.
inline void expect_messages_counted_once(const Dissection& dissection) {
  std::vector<std::uint64_t> fresh(dissection.handshake.size());
  for (const auto& packet : dissection.packets)
    for (const auto& tile : packet.tiles)
      if (tile.kind == TileKind::TlsHandshake && tile.item != kNone && !tile.repeated)
        fresh[tile.item] += tile.length;
  for (std::size_t i = 0; i < fresh.size(); ++i)
    EXPECT_EQ(fresh[i], dissection.handshake[i].length) << to_string(dissection.handshake[i].type);
}

/// The names of the messages of one direction in order.
inline std::vector<std::string> handshake_names(const Dissection& dissection, link::Direction direction) {
  std::vector<std::string> out;
  for (const auto& message : dissection.handshake)
    if (message.carrier.direction == direction)
      out.push_back(message.is_hello_retry_request ? "HelloRetryRequest"
                                                   : std::string(to_string(message.type)));
  return out;
}

}  // namespace doxlab::dissect::test
