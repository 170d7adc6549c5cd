#include "experiment/dropmap.hpp"

#include <algorithm>
#include <chrono>
#include <format>
#include <stdexcept>

#include "experiment/describe.hpp"
#include "experiment/dropmap_rows.hpp"
#include "experiment/sampler.hpp"

namespace doxlab::experiment {
namespace {

using link::Direction;
using link::PacketPlace;

// So far apart that lookups hardly meet; those that wait for a timer may be many.
constexpr SamplerOptions kMapSampling{
    .first_interval = 15ms, .least_interval = 8ms, .in_flight = 1024, .attempts = 5};
constexpr std::uint64_t kReferenceNumber = 0, kFirstRow = 1, kFirstPair = 1000;
/// Places of both senders.
constexpr std::uint64_t kPlaces = 2 * kMostDropmapPackets;

std::uint64_t number_of(const PacketPlace& place) {
  return static_cast<std::uint64_t>(place.direction) * kMostDropmapPackets + place.index;
}

PacketPlace place_of(std::uint64_t number) {
  return {.direction = static_cast<Direction>(number / kMostDropmapPackets), .index = number % kMostDropmapPackets};
}

/// Sample numbers are what rows are: all transports share them.
std::uint64_t sample_of(const PacketPlace& place) {
  return kFirstRow + number_of(place);
}
std::uint64_t sample_of(const PacketPlace& one, const PacketPlace& other) {
  const auto a = number_of(one), b = number_of(other);
  return kFirstPair + std::min(a, b) * kPlaces + std::max(a, b);
}

bool has_row(const PacketPlace& place) {
  return place.index < kMostDropmapPackets;
}
bool may_pair(const PacketPlace& place) {
  return place.index < kMostPairedPackets;
}

std::vector<link::Scripted> script_of(const DropmapOptions& options) {
  using enum link::Scripted::Action;
  link::Scripted event{.extra_delay = options.extra_delay};
  switch (options.event) {
    case PacketEvent::Drop: event.action = Drop; break;
    case PacketEvent::Flip: event.action = Corrupt; break;
    case PacketEvent::Duplicate: event.action = Duplicate; break;
    case PacketEvent::Delay: event.action = Delay; break;
  }
  std::vector<link::Scripted> out;
  const auto add = [&](PacketPlace place, std::uint64_t sample) {
    event.place = place;
    event.place.sample = sample;
    out.push_back(event);
  };
  for (std::uint64_t a = 0; a < kPlaces; ++a) {
    const auto one = place_of(a);
    add(one, sample_of(one));
    for (auto b = a + 1; options.pairs && b < kPlaces; ++b) {
      const auto other = place_of(b);
      if (!may_pair(one) || !may_pair(other)) continue;
      add(one, sample_of(one, other));
      add(other, sample_of(one, other));
    }
  }
  return out;
}

/// A row under way.
struct Entry {
  Transport transport;
  std::vector<PacketPlace> places;
  bool after_answer = false;
  std::vector<MetEvent> lookups;
  std::vector<Sample> samples;  ///< only of rows that are taken apart
  results::DropmapRow row;
};

class Map {
 public:
  Map(const Setup& setup, const DropmapOptions& options, results::DropmapRun& run, const Progress& progress,
      std::stop_token stop)
      : rig(setup), setup_(setup), options_(options), run_(run), progress_(progress), stop_(std::move(stop)) {}

  bool measure_references();
  bool measure_rows();
  bool measure_pairs();
  void finish();

  Rig rig;

 private:
  struct Undisturbed {
    std::vector<MetEvent> lookups;
    std::vector<Sample> samples;
    std::optional<std::size_t> chosen;
    Needs needs;  // of the chosen one
  };

  void check_pairs() const;
  bool measure(std::vector<Entry>& entries, bool keeps_samples);
  bool run(std::span<const Task> tasks, const std::function<void(Sample&&)>& on_sample);
  void describe_rows();
  std::optional<double> reference_ms(Transport transport) const {
    return run_.results.at(std::string(to_string(transport))).reference.ms;
  }

  const Setup& setup_;
  const DropmapOptions& options_;
  results::DropmapRun& run_;
  const Progress& progress_;
  std::stop_token stop_;
  std::map<Transport, Undisturbed> references_;
  std::vector<Entry> rows_, pairs_;
};

bool Map::run(std::span<const Task> tasks, const std::function<void(Sample&&)>& on_sample) {
  std::size_t repeated = 0;
  const bool finished = run_sampler(
      rig, tasks, kMapSampling, on_sample,
      [&](const SamplerStatus& status) {
        repeated = status.repeated;
        if (progress_) progress_(status.done, status.of);
      },
      stop_);
  run_.repeated += repeated;
  return finished;
}

bool Map::measure_references() {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < options_.references; ++i)
    for (const auto transport : setup_.transports) tasks.push_back({transport, kReferenceNumber});
  const bool finished = run(tasks, [&](Sample&& sample) {
    auto& here = references_[sample.task.transport];
    here.lookups.push_back(met_event(sample, {}, setup_.timeout));
    here.samples.push_back(std::move(sample));
  });
  for (auto& [transport, here] : references_) {
    auto& out = run_.results[std::string(to_string(transport))].reference;
    here.chosen = typical(here.lookups);
    results::DropmapRow row;
    summarize_row(row, here.lookups, {});
    out.lookups = row.lookups;
    out.no_answer = row.no_answer;
    out.disturbed = row.disturbed;
    out.ms = row.ms;
    out.ms_min = row.ms_min;
    out.ms_max = row.ms_max;
    out.round_trips = row.round_trips;
    if (!here.chosen) continue;
    const auto& sample = here.samples[*here.chosen];
    if (const auto analysis = analyse(sample, setup_.link); analysis.causes) here.needs = needs_of(*analysis.causes);
    for (const auto i : packets_that_matter(sample, setup_.timeout))
      ++(sample.packets[i].place.direction == Direction::ToServer ? out.pkts_c2s : out.pkts_s2c);
  }
  return finished;
}

bool Map::measure_rows() {
  for (const auto transport : setup_.transports) {
    const auto& here = references_[transport];
    if (!here.chosen || !here.lookups[*here.chosen].ms) continue;
    const auto& sample = here.samples[*here.chosen];
    const auto matter = packets_that_matter(sample, setup_.timeout);
    for (std::size_t i = 0; i < sample.packets.size(); ++i) {
      const auto& packet = sample.packets[i];
      if (packet.duplicate || packet.sent > *sample.result.answered || !has_row(packet.place)) continue;
      rows_.push_back({.transport = transport,
                       .places = {packet.place},
                       .after_answer = !std::ranges::contains(matter, i),
                       .lookups = {},
                       .samples = {},
                       .row = {}});
    }
  }
  if (options_.pairs) check_pairs();
  const bool finished = measure(rows_, true);
  describe_rows();
  return finished;
}

/// Before the rows are measured: losses add few packets to those of the reference.
void Map::check_pairs() const {
  std::map<Transport, std::size_t> packets;
  for (const auto& entry : rows_)
    if (!entry.after_answer && may_pair(entry.places.front())) ++packets[entry.transport];
  std::size_t pairs = 0;
  for (const auto& [transport, count] : packets) pairs += count * (count - 1) / 2;
  if (pairs > kMostPairs)
    throw std::invalid_argument(
        std::format("--pairs: {} pairs of packets, more than {}; narrow it with --only", pairs, kMostPairs));
}

bool Map::measure(std::vector<Entry>& entries, bool keeps_samples) {
  std::map<std::pair<Transport, std::uint64_t>, Entry*> by_task;
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < options_.repetitions; ++i) {
    for (auto& entry : entries) {
      const auto sample = entry.places.size() == 1 ? sample_of(entry.places[0])
                                                   : sample_of(entry.places[0], entry.places[1]);
      by_task[{entry.transport, sample}] = &entry;
      tasks.push_back({entry.transport, sample});
    }
  }
  return run(tasks, [&](Sample&& sample) {
    auto& entry = *by_task.at({sample.task.transport, sample.task.sample});
    entry.lookups.push_back(met_event(sample, entry.places, setup_.timeout));
    if (keeps_samples) entry.samples.push_back(std::move(sample));
  });
}

/// Takes the typical lookup of each row apart, after all were made: computing would disturb them.
void Map::describe_rows() {
  const bool is_lost = options_.event == PacketEvent::Drop || options_.event == PacketEvent::Flip;
  for (auto& entry : rows_) {
    summarize_row(entry.row, entry.lookups, reference_ms(entry.transport));
    entry.row.after_answer = entry.after_answer;
    const auto chosen = typical(entry.lookups);
    if (!chosen) continue;
    const auto& sample = entry.samples[*chosen];
    const auto analysis = analyse(sample, setup_.link);
    const auto index = packet_at(sample, entry.places.front()).value();
    entry.row.packets = {describe_packet(sample, analysis, index)};
    if (is_lost) add_recovery(entry.row, sample, analysis, index, references_[entry.transport].needs);
  }
}

bool Map::measure_pairs() {
  for (const auto& entry : rows_) {
    const auto chosen = typical(entry.lookups);
    if (entry.after_answer || !chosen || !may_pair(entry.places.front())) continue;
    const auto& sample = entry.samples[*chosen];
    const auto first = packet_at(sample, entry.places.front()).value();
    const auto analysis = analyse(sample, setup_.link);
    for (const auto i : packets_that_matter(sample, setup_.timeout)) {
      if (i <= first || !may_pair(sample.packets[i].place)) continue;
      pairs_.push_back({.transport = entry.transport,
                        .places = {entry.places.front(), sample.packets[i].place},
                        .after_answer = false,
                        .lookups = {},
                        .samples = {},
                        .row = {.packets = {entry.row.packets.front(), describe_packet(sample, analysis, i)}}});
    }
  }
  const bool finished = measure(pairs_, false);
  for (auto& entry : pairs_) summarize_row(entry.row, entry.lookups, reference_ms(entry.transport));
  return finished;
}

void Map::finish() {
  for (const auto transport : setup_.transports) {
    auto& out = run_.results[std::string(to_string(transport))];
    std::vector<LossLeaf> leaves;
    const auto take = [&](std::vector<Entry>& entries, std::vector<results::DropmapRow>& rows) {
      for (auto& entry : entries) {
        if (entry.transport != transport || entry.row.packets.empty()) continue;
        if (entry.lookups.empty()) continue;
        if (!entry.after_answer) add_leaves(leaves, entry.places.size(), entry.lookups);
        rows.push_back(std::move(entry.row));
      }
    };
    add_leaves(leaves, 0, references_[transport].lookups);
    take(rows_, out.rows);
    take(pairs_, out.pairs);
    if (options_.event == PacketEvent::Drop && out.reference.ms && !out.rows.empty())
      out.expected = expect_under_loss(leaves, options_.loss_probability, *out.reference.ms);
  }
}

}  // namespace

std::string_view to_string(PacketEvent event) {
  switch (event) {
    case PacketEvent::Drop: return "drop";
    case PacketEvent::Flip: return "flip";
    case PacketEvent::Duplicate: return "dup";
    case PacketEvent::Delay: return "delay";
  }
  return "";
}

results::DropmapRun run_dropmap(const Setup& asked, const DropmapOptions& options, const std::string& command_line,
                                const Progress& progress, std::stop_token stop) {
  results::DropmapRun run;
  run.command_line = command_line;
  run.started = std::format("{:%FT%TZ}", std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
  run.action = to_string(options.event);
  run.extra_delay_ms = to_ms(options.extra_delay);
  run.repetitions = options.repetitions;
  run.references = options.references;
  const auto begin = monotonic_now();
  auto setup = asked;
  setup.link.loss_probability = setup.link.duplicate_probability = 0;
  setup.link.corrupt_probability = setup.link.reorder_probability = 0;
  setup.link.burst.reset();
  setup.link.script = script_of(options);
  for (const auto t : setup.transports) run.results[std::string(to_string(t))].transport = display_name(t);

  Map map(setup, options, run, progress, std::move(stop));
  run.complete = map.measure_references() && map.measure_rows() && (!options.pairs || map.measure_pairs());
  map.finish();
  run.link = describe(setup.link);
  run.environment = describe_environment(map.rig.kernel_settings());
  run.endpoints = describe_endpoints(setup);
  run.precision = describe(map.rig.precision());
  run.duration_s = to_ms(monotonic_now() - begin) / 1000;
  return run;
}

}  // namespace doxlab::experiment
