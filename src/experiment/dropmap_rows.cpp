#include "experiment/dropmap_rows.hpp"

#include <algorithm>
#include <format>

#include "trace/carried.hpp"
#include "trace/critical_path.hpp"

namespace doxlab::experiment {
namespace {

bool counts(const MetEvent& lookup) {
  return lookup.was_sent && !lookup.disturbed;
}

std::optional<trace::CriticalPath> path_of(const Sample& sample) {
  if (!sample.result.answered) return std::nullopt;
  return trace::critical_path(sample.packets, sample.result.started, *sample.result.answered);
}

std::vector<double> sorted_times(std::span<const MetEvent> lookups) {
  std::vector<double> out;
  for (const auto& lookup : lookups)
    if (counts(lookup) && lookup.ms) out.push_back(*lookup.ms);
  std::ranges::sort(out);
  return out;
}

}  // namespace

std::vector<std::size_t> packets_that_matter(const Sample& sample, Duration timeout) {
  const auto cut = trace::cut_at_answer(sample.packets, path_of(sample));
  const auto end = sample.result.answered.value_or(sample.result.started + timeout);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < sample.packets.size(); ++i) {
    const auto& packet = sample.packets[i];
    if (!packet.duplicate && cut.is_before(packet) && packet.sent <= end) out.push_back(i);
  }
  return out;
}

std::optional<std::size_t> packet_at(const Sample& sample, const link::PacketPlace& place) {
  const auto found = std::ranges::find_if(sample.packets, [&](const auto& packet) {
    return packet.place.direction == place.direction && packet.place.index == place.index && !packet.duplicate;
  });
  if (found == sample.packets.end()) return std::nullopt;
  return static_cast<std::size_t>(found - sample.packets.begin());
}

MetEvent met_event(const Sample& sample, std::span<const link::PacketPlace> places, Duration timeout) {
  MetEvent out;
  out.disturbed = sample.disturbed;
  out.was_sent = std::ranges::all_of(places, [&](const auto& place) { return packet_at(sample, place).has_value(); });
  out.outcome = sample.result.outcome;
  out.reason = sample.result.reason;
  if (sample.result.answered) out.ms = to_ms(*sample.result.answered - sample.result.started);
  if (const auto path = path_of(sample)) out.round_trips = path->round_trips();
  out.sent = packets_that_matter(sample, timeout).size();
  return out;
}

std::optional<std::size_t> typical(std::span<const MetEvent> lookups) {
  const auto times = sorted_times(lookups);
  for (std::size_t i = 0; i < lookups.size(); ++i) {
    if (!counts(lookups[i])) continue;
    if (times.empty() || lookups[i].ms == times[(times.size() - 1) / 2]) return i;
  }
  const auto any = std::ranges::find_if(lookups, &MetEvent::was_sent);
  if (any == lookups.end()) return std::nullopt;
  return static_cast<std::size_t>(any - lookups.begin());
}

void summarize_row(results::DropmapRow& row, std::span<const MetEvent> lookups, std::optional<double> reference_ms) {
  std::vector<std::uint64_t> trips, sent;
  for (const auto& lookup : lookups) {
    row.disturbed += lookup.disturbed;
    if (lookup.disturbed) continue;
    ++row.lookups;
    row.not_sent += !lookup.was_sent;
    if (!lookup.was_sent) continue;
    row.no_answer += !lookup.ms;
    sent.push_back(lookup.sent);
    if (lookup.round_trips) trips.push_back(*lookup.round_trips);
  }
  const auto median = [](auto& values) {
    std::ranges::sort(values);
    return values[(values.size() - 1) / 2];
  };
  if (!sent.empty()) row.pkts = median(sent);
  if (!trips.empty()) row.round_trips = median(trips);
  if (const auto chosen = typical(lookups)) {
    row.outcome = client::to_string(lookups[*chosen].outcome);
    row.reason = lookups[*chosen].reason;
  }
  const auto times = sorted_times(lookups);
  if (times.empty()) return;
  row.ms = times[(times.size() - 1) / 2];
  row.ms_min = times.front();
  row.ms_max = times.back();
  if (reference_ms) row.lost_ms = *row.ms - *reference_ms;
}

void add_leaves(std::vector<LossLeaf>& leaves, std::size_t lost, std::span<const MetEvent> lookups) {
  const auto used = std::ranges::count_if(lookups, counts);
  for (const auto& lookup : lookups)
    if (counts(lookup)) leaves.push_back({lost, lookup.sent, lookup.ms, 1.0 / static_cast<double>(used)});
}

results::DropmapPacket describe_packet(const Sample& sample, const Analysis& analysis, std::size_t index) {
  const auto& packet = sample.packets[index];
  return {.direction = std::string(link::to_string(packet.place.direction)),
          .index = packet.place.index,
          .carried = trace::describe_packet(analysis.dissection, sample.opening.size() + index),
          .ip_bytes = packet.bytes.size(),
          .sent_ms = to_ms(packet.sent - sample.result.started)};
}

void add_recovery(results::DropmapRow& row, const Sample& sample, const Analysis& analysis, std::size_t index,
                  const Needs& usual) {
  const auto* causes = analysis.causes ? &*analysis.causes : nullptr;
  row.recovery = describe_recovery(analysis.dissection, analysis.observed, sample.opening.size() + index, causes, usual);
  if (causes != nullptr) row.waits_ms = waits_ms(*causes);
}

}  // namespace doxlab::experiment
