#pragma once
/// TCP connections from the segments of an observer: both streams put together, and for each octet who sent
/// it first and who delivered it first (RFC 9293). Retransmitted octets are told apart from new ones.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/address.hpp"
#include "base/time.hpp"
#include "dissect/carrier.hpp"
#include "dissect/stream_buffer.hpp"
#include "dissect/tls.hpp"

namespace doxlab::dissect {

/// Bits of TcpSegment::flags, as on the wire.
enum TcpFlag : std::uint8_t { kTcpFin = 1, kTcpSyn = 2, kTcpRst = 4, kTcpPsh = 8, kTcpAck = 16 };

/// One segment.
struct TcpSegment {
  std::uint32_t packet = 0;          ///< index of the IP packet
  std::uint32_t connection = kNone;  ///< index of the TcpConnection
  link::Direction direction = link::Direction::ToServer;
  std::uint8_t flags = 0;
  std::uint32_t sequence = 0, acknowledgment = 0;  ///< as on the wire
  std::uint16_t window = 0;                        ///< as on the wire, before scaling
  std::uint32_t payload_offset = 0;                ///< from the first octet of the IP header
  std::uint32_t payload_length = 0;
  /// Of the payload's first octet; the first octet of a stream is 0. Empty: before the stream's beginning, as
  /// far as that is known (keep-alive probes).
  std::optional<std::uint64_t> stream_offset;
  std::vector<ByteRange> repeated;  ///< octets of the payload that were sent before, as offsets of the stream

  ByteRange stream_range() const { return {*stream_offset, *stream_offset + payload_length}; }
};

struct TcpConnection {
  explicit TcpConnection(MemoryBudget& budget) : streams{StreamBuffer(budget), StreamBuffer(budget)} {}

  SocketAddress client, server;
  bool has_syn = false;                     ///< its beginning was seen
  std::array<StreamBuffer, 2> streams;      ///< by direction, see side()
  std::array<RangeOwners, 2> delivered_by;  ///< the IP packet that brought each octet first
  std::array<Layout, 2> layout;             ///< names of the streams' octets, filled in by the caller
  std::optional<TlsConnection> tls;         ///< filled in by the caller
};

/// A TCP packet as it was observed.
struct TcpPacket {
  std::uint32_t packet = 0;  ///< index of the IP packet
  BytesView header;          ///< TCP header with options, at least 20 octets
  std::uint32_t payload_offset = 0;
  std::uint32_t payload_length = 0;
  BytesView payload;  ///< what was captured of it
  SocketAddress source, destination;
  std::optional<link::Direction> direction;  ///< if the observer knows
  std::optional<Timestamp> delivered;        ///< empty: it never arrived
};

class TcpDissector {
 public:
  /// Lifetime: the budget outlives the dissector and the connections.
  explicit TcpDissector(MemoryBudget& budget) : budget_(budget) {}

  /// Takes packets in order of sending; returns the index of the segment.
  std::uint32_t add(const TcpPacket& packet);
  /// Settles who delivered what.
  void finish();

  // Results.
  std::vector<TcpSegment> segments;
  std::vector<TcpConnection> connections;

 private:
  /// Where the stream of a direction stands.
  struct Position {
    std::optional<std::uint32_t> start;  // sequence number of the first octet
    std::uint64_t highest = 0;           // offset behind the last octet sent
  };
  struct Delivery {
    Timestamp when;
    std::uint32_t segment;
  };

  std::uint32_t find_or_begin(const TcpPacket& packet, TcpSegment& segment);

  MemoryBudget& budget_;
  std::vector<std::array<Position, 2>> positions_;  // beside connections
  std::vector<Delivery> deliveries_;
};

}  // namespace doxlab::dissect
