#include "experiment/measured.hpp"

#include <algorithm>

#include "trace/ways_back.hpp"

namespace doxlab::experiment {
namespace {

/// Of an end that has nothing to compute, on a busy machine.
constexpr auto kLongestReaction = 500us;

}  // namespace

std::string_view to_string(Counting counting) {
  switch (counting) {
    case Counting::Link: return "link";
    case Counting::PacketSocket: return "packet_socket";
    case Counting::Datagrams: return "datagrams";
    case Counting::Segments: return "segments";
  }
  return "link";
}

Measured measure(const Sample& sample) {
  Measured out;
  const auto& result = sample.result;
  const auto& packets = sample.streams ? sample.streams->steps : sample.packets;
  if (result.answered) out.path = trace::critical_path(packets, result.started, *result.answered);
  const auto cut = trace::cut_at_answer(packets, out.path);
  out.volumes = sample.streams ? sample.streams->volumes : trace::count_volumes(packets, cut);
  out.flights = trace::count_flights(packets, cut);
  return out;
}

void place_server(Sample& sample) {
  if (sample.counting != Counting::PacketSocket && sample.counting != Counting::Datagrams) return;
  auto packets = sample.opening;
  packets.insert(packets.end(), sample.packets.begin(), sample.packets.end());
  const auto observed = dissect::observe(packets);
  dissect::KeyLog keys;
  keys.add(sample.key_log);
  const auto dissection = dissect::dissect(observed, keys);
  const auto way = trace::ways_back(dissection, observed)[dissect::side(link::Direction::ToServer)];
  place_server(sample.opening, way);
  place_server(sample.packets, way);
}

void place_server(std::vector<capture::RecordedPacket>& packets, Duration way_and_back) {
  // A little less: packets are not all as fast as the fastest that says what it answers, and no end reacts at once.
  const auto slack = std::max<Duration>(way_and_back / 100, std::min<Duration>(kLongestReaction, way_and_back / 10));
  const Duration half = (way_and_back - slack) / 2;
  for (auto& packet : packets) {
    if (packet.place.direction == link::Direction::ToServer) packet.delivered = packet.sent + half;
    else packet.sent = *packet.delivered - half;
    packet.due = *packet.delivered;
  }
  std::ranges::stable_sort(packets, {}, &capture::RecordedPacket::sent);
}

}  // namespace doxlab::experiment
