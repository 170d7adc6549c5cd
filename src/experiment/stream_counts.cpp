#include "experiment/stream_counts.hpp"

#include <algorithm>
#include <span>

#include "experiment/measured.hpp"
#include "experiment/packet_log.hpp"

namespace doxlab::experiment {
namespace {

using Event = WatchedStream::Event;
using enum Event::Kind;
using link::Direction;

/// RFC 9293 §3.1, RFC 7323 §2 and §3, RFC 2018 §2, each padded to words as Linux has them together.
constexpr std::uint64_t kTcpHeader = 20, kMss = 4, kTimestamps = 12, kSackPermitted = 4, kWindowScale = 4;

std::uint64_t ip_header(const WatchedStream& stream) { return stream.ipv6 ? 40 : 20; }

std::uint64_t options_of_syn(bool timestamps, bool sack, bool window_scaling) {
  // SACK-permitted takes the place of padding beside timestamps.
  return kMss + (timestamps ? kTimestamps : sack ? kSackPermitted : 0) + (window_scaling ? kWindowScale : 0);
}

/// From the beginning of the connection to a moment.
struct Totals {
  trace::Volume to_server, to_client;
};

Totals totals(const WatchedStream& stream, const net::TcpCounters& out, const net::TcpCounters& in, std::uint64_t bytes_in) {
  const auto options = out.timestamps ? kTimestamps : 0;
  const auto header = ip_header(stream) + kTcpHeader + options;
  const auto connected = std::ranges::find(stream.events, Connected, &Event::kind);
  const auto resent = connected != stream.events.end() ? connected->counters.retransmissions : out.retransmissions;
  const auto syns = std::min<std::uint64_t>(out.segments_out, 1 + resent);
  const auto offered = options_of_syn(stream.offers_timestamps, stream.offers_sack, stream.offers_window_scaling);
  const auto taken = options_of_syn(in.timestamps, in.sack, in.window_scaling);
  Totals sum;
  sum.to_server.packets = out.segments_out;
  sum.to_server.ip_bytes = out.segments_out * header + out.bytes_out + syns * offered - syns * options;
  sum.to_client.packets = in.segments_in;
  sum.to_client.ip_bytes = in.segments_in * header + bytes_in;
  if (in.segments_in > 0 && connected != stream.events.end()) sum.to_client.ip_bytes += taken - options;
  return sum;
}

trace::Volume less(const trace::Volume& all, const trace::Volume& part) {
  return {.packets = all.packets - std::min(all.packets, part.packets), .ip_bytes = all.ip_bytes - std::min(all.ip_bytes, part.ip_bytes)};
}

/// Before the first event of the lookup: what went for the connection that it found open.
Totals before(const WatchedStream& stream, Timestamp started) {
  const auto first = std::ranges::find_if(stream.events, [&](const Event& event) { return event.when >= started; });
  if (first == stream.events.begin()) return {};
  const auto& at = first == stream.events.end() ? stream.events.back() : *first;
  // An event tells how things stood before what it tells of, but for octets that were received.
  return totals(stream, at.counters, at.counters, std::prev(first)->bytes_in);
}

/// The shortest that the kernel measured; zero: none.
Duration way_and_back(const WatchedStream& stream) {
  auto shortest = Duration::max();
  const auto note = [&](const Event& event) {
    if (event.counters.shortest_round_trip > Duration{}) shortest = std::min(shortest, event.counters.shortest_round_trip);
  };
  for (const auto& event : stream.events) note(event);
  if (stream.end) note(*stream.end);
  return shortest == Duration::max() ? Duration{} : shortest;
}

/// Several segments that are read at once have only the time of the last, while the first may have been acknowledged so much
/// earlier that `now` could follow from that. Told from a server that goes on sending by its silence meanwhile.
bool is_answer_to_acknowledgement(const Event& before, const Event& now, std::span<const Timestamp> sent, Duration way) {
  if (now.kind != Received || now.when - before.when < way / 2) return false;
  // What `before` came in answer to.
  const auto behind = std::ranges::upper_bound(sent, before.when - way);
  return behind != sent.begin() && now.when - way - way >= *std::prev(behind);
}

}  // namespace

trace::Volumes count_volumes(const WatchedStream& stream, Timestamp started, std::optional<Timestamp> answered) {
  trace::Volumes out;
  if (stream.events.empty()) return out;
  const auto& last = stream.end ? *stream.end : stream.events.back();
  const auto base = before(stream, started);
  const auto all = totals(stream, last.counters, last.counters, last.bytes_in);
  auto until = all;
  if (answered) {
    const Event *waiting = &stream.events.front(), *readable = waiting, *received = waiting;
    for (const auto& event : stream.events) {
      if (event.when > *answered) break;
      if (event.kind == Readable) waiting = &event;
      if (event.kind != Received) continue;
      readable = waiting;
      received = &event;
    }
    until = totals(stream, readable->counters, received->counters, received->bytes_in);
  }
  out.to_server = less(until.to_server, base.to_server);
  out.to_client = less(until.to_client, base.to_client);
  out.to_server_after = less(all.to_server, until.to_server);
  out.to_client_after = less(all.to_client, until.to_client);
  return out;
}

std::vector<capture::RecordedPacket> steps_of(const WatchedStream& stream, Timestamp started) {
  std::vector<capture::RecordedPacket> out;
  const auto way = way_and_back(stream);
  const auto add = [&](Direction direction, Timestamp when) {
    if (when >= started) out.push_back(seen_at_client(direction, when, {}));
  };
  const Event* received = nullptr;
  std::vector<Timestamp> sent;
  for (const auto& event : stream.events) {
    if (event.kind == Connecting || event.kind == Sending) {
      add(Direction::ToServer, event.when);
      sent.push_back(event.when);
    }
    if (event.kind != Connected && event.kind != Received) continue;
    if (received != nullptr && is_answer_to_acknowledgement(*received, event, sent, way)) {
      const auto first = std::min(received->when, event.when - way);
      add(Direction::ToClient, first);
      add(Direction::ToServer, first);
    }
    add(Direction::ToClient, event.when);
    add(Direction::ToServer, event.when);
    received = &event;
  }
  place_server(out, way);
  return out;
}

}  // namespace doxlab::experiment
