#pragma once
/// The entry point: packets of a lookup, or of any flow, and the secrets in; named octets out. Every packet
/// becomes tiles that sum to its IP length, and what the tiles point to comes along: segments, records, QUIC
/// packets and frames, handshake messages, HTTP frames, DNS messages.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/address.hpp"
#include "base/time.hpp"
#include "capture/packet.hpp"
#include "dissect/dns_message.hpp"
#include "dissect/http.hpp"
#include "dissect/key_log.hpp"
#include "dissect/quic.hpp"
#include "dissect/tcp.hpp"
#include "dissect/tile.hpp"

namespace doxlab::dissect {

/// A packet as somebody saw it.
struct ObservedPacket {
  BytesView bytes;                           ///< from the IP header on, as far as it was captured
  std::uint32_t ip_bytes = 0;                ///< its length on the wire, at least that of `bytes`
  Timestamp sent;                            ///< or captured
  std::optional<Timestamp> delivered;        ///< empty: it never arrived; in a file: when it was captured
  std::optional<link::Direction> direction;  ///< if the observer knows
};

/// The lab's packets. One that the link corrupted counts as not delivered. Borrows from `packets`.
std::vector<ObservedPacket> observe(std::span<const capture::RecordedPacket> packets);

/// What an IP packet turned out to be. Its place in the list is that of the packet given.
struct DissectedPacket {
  SocketAddress source, destination;
  capture::Protocol protocol = capture::Protocol::Other;
  std::optional<link::Direction> direction;  ///< empty: it belongs to no connection that is known
  std::uint32_t ip_bytes = 0;
  std::uint32_t captured_bytes = 0;  ///< less: cut off by the capture
  std::uint32_t segment = kNone;     ///< index of the TcpSegment
  std::uint32_t first_quic_packet = 0, quic_packets = 0;
  std::vector<Tile> tiles;  ///< sum to ip_bytes, see tile.hpp
};

struct Dissection {
  std::vector<DissectedPacket> packets;
  std::vector<TcpConnection> tcp_connections;
  std::vector<TcpSegment> segments;
  std::vector<TlsRecord> records;
  std::vector<QuicConnection> quic_connections;
  std::vector<QuicPacket> quic_packets;
  std::vector<QuicFrame> quic_frames;
  std::vector<HandshakeMessage> handshake;  ///< QUIC's first
  std::vector<HttpFrame> http_frames;
  std::vector<DnsMessage> dns_messages;
  /// What the streams' buffers share.
  std::unique_ptr<MemoryBudget> budget = std::make_unique<MemoryBudget>();
};

/// Dissects packets in order of `sent`. Any number of connections may be among them. Never fails: what cannot
/// be read is a tile that says so. Memory: some ten times the packets, at most 64 MiB of streams, and
/// kMostItems structures of each kind (limits.hpp).
/// Lifetime: the result borrows nothing.
Dissection dissect(std::span<const ObservedPacket> packets, const KeyLog& keys);

}  // namespace doxlab::dissect
