#include "trace/ways_back.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "dissect/ranges.hpp"
#include "trace/carried.hpp"

namespace doxlab::trace {
namespace {

using dissect::HandshakeType;
using dissect::ObservedPacket;
using dissect::QuicPacketType;
using link::Direction;

enum class Space : std::uint8_t { Initial, Handshake, Application };

std::optional<Space> space_of(QuicPacketType type) {
  switch (type) {
    case QuicPacketType::Initial: return Space::Initial;
    case QuicPacketType::Handshake: return Space::Handshake;
    case QuicPacketType::ZeroRtt:
    case QuicPacketType::OneRtt: return Space::Application;
    default: return std::nullopt;
  }
}

class WaysBack {
 public:
  explicit WaysBack(const dissect::Dissection& dissection) : dissection_(dissection) {}

  void see(const ObservedPacket& packet, std::uint32_t index) {
    const bool arrived = packet.delivered.has_value();
    const auto& here = dissection_.packets[index];
    if (here.quic_packets > 0) see_datagram(packet, here, arrived);
    if (here.segment != dissect::kNone) see_segment(dissection_.segments[here.segment], packet.sent, arrived);
    for (auto q = here.first_quic_packet; q < here.first_quic_packet + here.quic_packets; ++q)
      see_quic(dissection_.quic_packets[q], packet.sent, arrived);
    for (const auto& tile : here.tiles) see_message(tile, packet, arrived);
  }

  std::array<std::optional<Duration>, 2> shortest;

 private:
  struct Segment {
    std::uint32_t end = 0;  ///< the acknowledgment number that covers it
    Timestamp seen{};
  };

  /// A message, the first of its kind in the flow, and the first of the kind that answers it.
  struct Exchange {
    Direction asks = Direction::ToServer;
    std::optional<std::uint32_t> item = {};
    dissect::RangeOwners seen = {};
    std::optional<Timestamp> complete = {};  ///< when the last of its octets that were seen came by for the first time
    bool is_over = false;

    void ask(const dissect::Tile& tile, Timestamp now) {
      if (item.value_or(tile.item) != tile.item) return;
      item = tile.item;
      if (!seen.claim({tile.item_offset, std::uint64_t{tile.item_offset} + tile.length}, 0).empty()) complete = now;
    }
  };

  void answer(Exchange& exchange, Timestamp now) {
    if (exchange.complete && !exchange.is_over) sample(exchange.asks, now - *exchange.complete);
    exchange.is_over = true;
  }

  void see_message(const dissect::Tile& tile, const ObservedPacket& packet, bool arrived) {
    const bool to_server = packet.direction == Direction::ToServer;
    if (tile.kind == dissect::TileKind::TlsHandshake && tile.item < dissection_.handshake.size()) {
      const auto type = dissection_.handshake[tile.item].type;
      if (type == HandshakeType::ClientHello && to_server && arrived) hello_.ask(tile, packet.sent);
      if (type == HandshakeType::ServerHello && !to_server) answer(hello_, packet.sent);
      if (type == HandshakeType::Finished && !to_server && arrived) finished_.ask(tile, packet.sent);
      if (type == HandshakeType::Finished && to_server) answer(finished_, packet.sent);
    } else if (is_dns(tile.kind) && tile.item < dissection_.dns_messages.size()) {
      const bool is_response = dissection_.dns_messages[tile.item].is_response;
      if (!is_response && to_server && arrived) query_.ask(tile, packet.sent);
      if (is_response && !to_server) answer(query_, packet.sent);
    }
  }

  static bool is_dns(dissect::TileKind kind) {
    using enum dissect::TileKind;
    return kind == DnsHeader || kind == DnsQuestion || kind == DnsRecord || kind == DnsOpt || kind == DnsPadding;
  }

  void sample(Direction acknowledged, Duration took) {
    auto& out = shortest[dissect::side(acknowledged)];
    if (!out || took < *out) out = took;
  }

  void see_segment(const dissect::TcpSegment& segment, Timestamp now, bool arrived) {
    if (segment.connection == dissect::kNone) return;
    if ((segment.flags & dissect::kTcpAck) != 0) {
      auto& waiting = segments_[{segment.connection, opposite(segment.direction)}];
      std::optional<Timestamp> newest;
      while (!waiting.empty() && static_cast<std::int32_t>(segment.acknowledgment - waiting.front().end) >= 0) {
        newest = waiting.front().seen;
        waiting.pop_front();
      }
      if (newest) sample(opposite(segment.direction), now - *newest);
    }
    const bool is_syn = (segment.flags & dissect::kTcpSyn) != 0;
    const auto length = segment.payload_length + (is_syn ? 1 : 0);
    if (length == 0) return;
    auto& waiting = segments_[{segment.connection, segment.direction}];
    const bool is_again = !segment.repeated.empty() || (is_syn && !syns_.insert({segment.connection, segment.direction}).second);
    if (is_again) waiting.clear();
    else if (arrived) waiting.push_back({segment.sequence + length, now});
  }

  /// Before a server knows that its client's address is real, it sends at most three times what it has received (RFC 9000 section
  /// 8.1): what exceeds that needs the datagram that allowed it, acknowledged or not.
  void see_datagram(const ObservedPacket& packet, const dissect::DissectedPacket& here, bool arrived) {
    constexpr std::uint64_t kLimit = 3;
    const auto* quic = &dissection_.quic_packets[here.first_quic_packet];
    const std::uint64_t payload = here.ip_bytes - std::min(here.ip_bytes, quic->offset);
    auto& limit = limits_[quic->connection];
    if (packet.direction == Direction::ToServer) {
      if (!arrived) return;
      const bool validates = std::any_of(quic, quic + here.quic_packets, [](const dissect::QuicPacket& one) {
        return one.type == QuicPacketType::Handshake || one.token.length > 0;
      });
      if (validates && !limit.validated) limit.validated = packet.sent;
      limit.received += payload;
      limit.allowed.emplace_back(kLimit * limit.received, packet.sent);
      return;
    }
    limit.sent += payload;
    const auto enough = std::ranges::lower_bound(limit.allowed, limit.sent, {}, &std::pair<std::uint64_t, Timestamp>::first);
    if (enough == limit.allowed.end() && !limit.validated) return;  // a server that knows no limit
    const auto needed = std::min(enough == limit.allowed.end() ? Timestamp::max() : enough->second, limit.validated.value_or(Timestamp::max()));
    // Of a server that exceeds it now and then, other signs tell more.
    const auto& known = shortest[dissect::side(Direction::ToServer)];
    const Duration took = packet.sent - needed;
    if (known && took >= *known * 3 / 4) sample(Direction::ToServer, took);
  }

  void see_quic(const dissect::QuicPacket& packet, Timestamp now, bool arrived) {
    if (packet.type == QuicPacketType::Retry && arrived && !retry_) retry_ = now;
    if (packet.type == QuicPacketType::Initial && packet.direction == Direction::ToServer && packet.token.length > 0 && retry_) {
      if (!used_token_) sample(Direction::ToClient, now - *retry_);
      used_token_ = true;
    }
    const auto space = space_of(packet.type);
    if (!space || !packet.is_decrypted || packet.connection == dissect::kNone) return;
    auto& acknowledged = numbers_[{packet.connection, opposite(packet.direction), *space}];
    bool asks = false;
    for (auto f = packet.first_frame; f < packet.first_frame + packet.frames; ++f) {
      const auto& frame = dissection_.quic_frames[f];
      asks |= is_ack_eliciting(frame.type);
      if ((frame.type != dissect::kFrameAck && frame.type != dissect::kFrameAckEcn) || frame.acked.empty()) continue;
      const auto largest = frame.acked.front().largest;
      if (const auto found = acknowledged.find(largest); found != acknowledged.end())
        sample(opposite(packet.direction), now - found->second);
      acknowledged.erase(acknowledged.begin(), acknowledged.upper_bound(largest));
    }
    if (asks && arrived) numbers_[{packet.connection, packet.direction, *space}].emplace(packet.packet_number, now);
  }

  /// What a server may send to an address that it does not know to be real. UDP payload octets.
  struct Limit {
    std::uint64_t received = 0, sent = 0;
    std::vector<std::pair<std::uint64_t, Timestamp>> allowed;  ///< so much, from then on
    std::optional<Timestamp> validated;                        ///< by a Handshake packet or a token: anything
  };

  const dissect::Dissection& dissection_;
  std::map<std::uint32_t, Limit> limits_;  ///< by connection
  Exchange hello_{.asks = Direction::ToServer}, query_{.asks = Direction::ToServer}, finished_{.asks = Direction::ToClient};
  std::optional<Timestamp> retry_;
  bool used_token_ = false;
  std::map<std::pair<std::uint32_t, Direction>, std::deque<Segment>> segments_;
  std::set<std::pair<std::uint32_t, Direction>> syns_;  ///< where one was seen
  std::map<std::tuple<std::uint32_t, Direction, Space>, std::map<std::uint64_t, Timestamp>> numbers_;
};

/// Where no packet is known to need another.
std::array<Duration, 2> ways_at_first(std::span<const ObservedPacket> packets) {
  std::array<Duration, 2> out{};
  std::optional<Timestamp> before;
  auto asks = Direction::ToServer;
  for (const auto& packet : packets) {
    if (!packet.delivered || !packet.direction) continue;
    if (packet.direction == asks) {
      before = packet.sent;
    } else if (before) {
      out[dissect::side(asks)] = packet.sent - *before;
      if (asks == Direction::ToClient) break;
      asks = Direction::ToClient;
      before = packet.sent;
    }
  }
  return out;
}

}  // namespace

std::array<std::optional<Duration>, 2> shortest_ways_back(const dissect::Dissection& dissection,
                                                              std::span<const ObservedPacket> packets) {
  WaysBack out(dissection);
  for (std::uint32_t i = 0; i < packets.size(); ++i) out.see(packets[i], i);
  return out.shortest;
}

std::array<Duration, 2> ways_back(const dissect::Dissection& dissection, std::span<const ObservedPacket> packets) {
  auto out = ways_at_first(packets);
  const auto shortest = shortest_ways_back(dissection, packets);
  for (const auto side : {0, 1})
    if (shortest[side]) out[side] = *shortest[side];
  return out;
}

}  // namespace doxlab::trace
