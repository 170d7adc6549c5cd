#include "trace/critical_path.hpp"

#include <algorithm>
#include <set>

namespace doxlab::trace {

using capture::RecordedPacket;
using link::Direction;

std::optional<std::size_t> last_delivered(std::span<const dissect::ObservedPacket> packets, Direction direction, Timestamp when) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const auto& p = packets[i];
    if (p.direction != direction || !p.delivered || *p.delivered > when) continue;
    if (!found || *p.delivered >= *packets[*found].delivered) found = i;
  }
  return found;
}

Duration CriticalPath::transit() const {
  Duration sum{};
  for (const auto& hop : hops) sum += hop.transit;
  return sum;
}

Duration CriticalPath::client_waits() const {
  Duration sum = final_wait;
  for (std::size_t i = 0; i < hops.size(); i += 2) sum += hops[i].wait;
  return sum;
}

Duration CriticalPath::server_waits() const {
  Duration sum{};
  for (std::size_t i = 1; i < hops.size(); i += 2) sum += hops[i].wait;
  return sum;
}

std::optional<CriticalPath> critical_path(std::span<const RecordedPacket> packets, Timestamp started,
                                          Timestamp answered) {
  return critical_path(dissect::observe(packets), started, answered);
}

std::optional<CriticalPath> critical_path(std::span<const dissect::ObservedPacket> packets, Timestamp started,
                                          Timestamp answered) {
  CriticalPath path;
  auto at = answered;
  auto direction = Direction::ToClient;
  while (const auto found = last_delivered(packets, direction, at)) {
    const auto& packet = packets[*found];
    path.hops.push_back({*found, at - *packet.delivered, *packet.delivered - packet.sent});
    at = packet.sent;
    direction = link::opposite(direction);
  }
  // The chain must begin with a packet of the client: no server speaks first.
  if (path.hops.empty() || direction == Direction::ToServer) return std::nullopt;
  // So far each hop holds what came after it; shift, so that it holds what came before.
  path.final_wait = path.hops.front().wait;
  for (std::size_t i = 0; i + 1 < path.hops.size(); ++i) path.hops[i].wait = path.hops[i + 1].wait;
  path.hops.back().wait = at - started;
  std::ranges::reverse(path.hops);
  return path;
}

Cut cut_at_answer(std::span<const RecordedPacket> packets, const std::optional<CriticalPath>& path) {
  if (!path) return {};
  const auto& answer = packets[path->hops.back().packet];
  return {.to_server = *answer.delivered, .to_client = answer.sent};
}

Volumes count_volumes(std::span<const RecordedPacket> packets, const Cut& cut) {
  Volumes out;
  for (const auto& p : packets) {
    if (p.duplicate) continue;
    const bool to_server = p.place.direction == Direction::ToServer;
    const bool before = cut.is_before(p);
    auto& volume = to_server ? (before ? out.to_server : out.to_server_after)
                             : (before ? out.to_client : out.to_client_after);
    ++volume.packets;
    volume.ip_bytes += p.bytes.size();
    if (p.fate != link::Fate::Delivered) ++out.lost;
  }
  return out;
}

std::size_t count_flights(std::span<const RecordedPacket> packets, const Cut& cut) {
  // Depth of a packet: one more than the deepest packet of the other direction that its sender had
  // received. Packets come in order of `sent`, and a delivery precedes what it causes, so one sweep is enough.
  std::vector<std::size_t> depth(packets.size());
  std::set<std::size_t> client_depths;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const auto& p = packets[i];
    for (std::size_t k = 0; k < i; ++k) {
      const auto& earlier = packets[k];
      if (earlier.place.direction != p.place.direction && earlier.delivered && *earlier.delivered <= p.sent)
        depth[i] = std::max(depth[i], depth[k] + 1);
    }
    if (p.place.direction == Direction::ToServer && p.sent < cut.to_server) client_depths.insert(depth[i]);
  }
  return client_depths.size();
}

}  // namespace doxlab::trace
