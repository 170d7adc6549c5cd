#include "dissect/tcp.hpp"

#include <algorithm>

namespace doxlab::dissect {
namespace {

using link::Direction;

TcpSegment read_segment(const TcpPacket& packet) {
  ByteReader in(packet.header);
  TcpSegment out;
  out.packet = packet.packet;
  in.skip(4);
  out.sequence = in.u32();
  out.acknowledgment = in.u32();
  in.skip(1);
  out.flags = in.u8();
  out.window = in.u16();
  out.payload_offset = packet.payload_offset;
  out.payload_length = packet.payload_length;
  return out;
}

/// The end that opens the connection, or the one without a well-known port.
Direction guess_direction_of(const TcpPacket& packet, const TcpSegment& segment) {
  if (packet.direction) return *packet.direction;
  if ((segment.flags & kTcpSyn) != 0)
    return (segment.flags & kTcpAck) != 0 ? Direction::ToClient : Direction::ToServer;
  constexpr std::uint16_t kFirstUserPort = 1024;
  const bool from_service = packet.source.port < kFirstUserPort && packet.destination.port >= kFirstUserPort;
  return from_service ? Direction::ToClient : Direction::ToServer;
}

}  // namespace

// A SYN with another sequence number begins a new connection between the same ports.
std::uint32_t TcpDissector::find_or_begin(const TcpPacket& packet, TcpSegment& segment) {
  const bool begins = (segment.flags & (kTcpSyn | kTcpAck)) == kTcpSyn;
  for (auto i = connections.size(); i-- > 0;) {
    const auto& known = connections[i];
    const bool to_server = packet.source == known.client && packet.destination == known.server;
    if (!to_server && (packet.source != known.server || packet.destination != known.client)) continue;
    segment.direction = packet.direction.value_or(to_server ? Direction::ToServer : Direction::ToClient);
    const auto start = positions_[i][side(segment.direction)].start;
    if (begins && start && *start != segment.sequence + 1) break;
    return static_cast<std::uint32_t>(i);
  }
  segment.direction = guess_direction_of(packet, segment);
  const bool to_server = segment.direction == Direction::ToServer;
  auto& connection = connections.emplace_back(budget_);
  connection.client = to_server ? packet.source : packet.destination;
  connection.server = to_server ? packet.destination : packet.source;
  positions_.emplace_back();
  return static_cast<std::uint32_t>(connections.size() - 1);
}

std::uint32_t TcpDissector::add(const TcpPacket& packet) {
  auto segment = read_segment(packet);
  segment.connection = find_or_begin(packet, segment);
  auto& connection = connections[segment.connection];
  auto& position = positions_[segment.connection][side(segment.direction)];
  const bool is_syn = (segment.flags & kTcpSyn) != 0;
  connection.has_syn |= is_syn;
  const std::uint32_t first = segment.sequence + (is_syn ? 1 : 0);
  if (!position.start) position.start = first;
  auto& other = positions_[segment.connection][side(link::opposite(segment.direction))];
  if (is_syn && (segment.flags & kTcpAck) != 0 && !other.start) other.start = segment.acknowledgment;

  // Sequence numbers wrap; segments lie within 2^31 of the newest octet.
  const auto distance =
      static_cast<std::int32_t>(first - (*position.start + static_cast<std::uint32_t>(position.highest)));
  const auto offset = static_cast<std::int64_t>(position.highest) + distance;
  const auto index = static_cast<std::uint32_t>(segments.size());
  if (offset >= 0 && segment.payload_length > 0) {
    segment.stream_offset = static_cast<std::uint64_t>(offset);
    const auto range = segment.stream_range();
    position.highest = std::max(position.highest, range.end);
    auto& stream = connection.streams[side(segment.direction)];
    auto fresh = stream.add(range.begin, packet.payload, packet.packet);
    for (const auto& missing :
         stream.add_missing({range.begin + packet.payload.size(), range.end}, packet.packet))
      fresh.push_back(missing);
    segment.repeated = rest_of(range, fresh);
    if (packet.delivered) deliveries_.push_back({*packet.delivered, index});
  }
  segments.push_back(std::move(segment));
  return index;
}

void TcpDissector::finish() {
  std::ranges::stable_sort(deliveries_, {}, &Delivery::when);
  for (const auto& delivery : deliveries_) {
    const auto& segment = segments[delivery.segment];
    connections[segment.connection].delivered_by[side(segment.direction)].claim(segment.stream_range(),
                                                                                segment.packet);
  }
  deliveries_.clear();
}

}  // namespace doxlab::dissect
