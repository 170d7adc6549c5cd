#include "experiment/merge.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <format>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>

#include "experiment/loss.hpp"
#include "experiment/sweep.hpp"
#include "experiment/sweep_file.hpp"
#include "transport/transport.hpp"

namespace doxlab::experiment {
namespace {

/// "3, 5 and 7 more" of a set that may be long.
std::string some_of(const std::set<std::uint64_t>& numbers) {
  constexpr std::size_t kShown = 8;
  std::string out;
  std::size_t shown = 0;
  for (const auto number : numbers) {
    if (shown++ == kShown) return std::format("{} and {} more", out, numbers.size() - kShown);
    out += (out.empty() ? "" : ", ") + std::to_string(number);
  }
  return out;
}

/// The shards that none of the parts is, where all parts are of one split; a sentence or nothing.
std::string absent_shards(const std::vector<std::optional<results::Shard>>& shards) {
  std::set<std::uint64_t> seen;
  for (const auto& shard : shards) {
    if (!shard || shard->of != shards.front()->of) return {};
    seen.insert(shard->index);
  }
  // Who splits a run into so many parts is helped by the numbers of samples alone.
  constexpr std::uint64_t kMost = 100000;
  const auto of = shards.front()->of;
  if (of > kMost) return {};
  std::set<std::uint64_t> absent;
  for (std::uint64_t index = 0; index < of; ++index)
    if (!seen.contains(index)) absent.insert(index);
  return absent.empty() ? std::string() : std::format("no file is shard {} of {}\n", some_of(absent), of);
}

std::string missing_samples(const results::LossRun& run) {
  std::string out;
  for (const auto& [name, summary] : run.results) {
    const auto have =
        static_cast<std::uint64_t>(std::ranges::count(run.samples, name, &results::LossSample::transport));
    if (have < run.repetitions)
      out += std::format("{}: {} of {} samples are missing\n", summary.transport, run.repetitions - have,
                         run.repetitions);
  }
  return out;
}

/// The worse of two in everything.
void worsen(results::LinkPrecision& precision, const results::LinkPrecision& by) {
  precision.packets += by.packets;
  precision.p50_us = std::max(precision.p50_us, by.p50_us);
  precision.p99_us = std::max(precision.p99_us, by.p99_us);
  precision.max_us = std::max(precision.max_us, by.max_us);
  precision.real_time_priority = precision.real_time_priority && by.real_time_priority;
  precision.within_1_ms = precision.within_1_ms && by.within_1_ms;
}

results::LossPart describe_part(const results::LossRun& run) {
  return {.command_line = run.command_line,
          .started = run.started,
          .duration_s = run.duration_s,
          .shard = run.shard,
          .samples = run.samples.size(),
          .environment = run.environment,
          .precision = run.precision};
}

/// Every sample belongs to the run, and to one part only.
Result<void> check_disjoint(const std::vector<NamedLossRun>& parts) {
  struct Place {
    std::string_view transport;
    std::uint64_t sample = 0;
    const std::string* part = nullptr;
  };
  std::vector<Place> places;
  for (const auto& [name, run] : parts)
    for (const auto& sample : run.samples) {
      if (!run.results.contains(sample.transport) || sample.sample >= run.repetitions)
        return fail(
            std::format("{}: sample {} of {} is not of this run", name, sample.sample, sample.transport));
      places.push_back({sample.transport, sample.sample, &name});
    }
  const auto key = [](const Place& place) { return std::pair(place.transport, place.sample); };
  std::ranges::stable_sort(places, {}, key);
  if (const auto twice = std::ranges::adjacent_find(places, {}, key); twice != places.end())
    return fail(std::format("{} and {} overlap: both have sample {} of {}", *twice->part,
                            *std::next(twice)->part, twice->sample, twice->transport));
  return {};
}

/// A file that is renamed to its name when it is whole.
class WholeFile {
 public:
  explicit WholeFile(std::string path) : path_(std::move(path)), partial_(path_ + ".partial") {
    out_.open(partial_, std::ios::binary | std::ios::trunc);
    if (!out_) throw std::runtime_error(std::format("{}: {}", partial_, std::strerror(errno)));
  }
  ~WholeFile() {
    if (!partial_.empty()) std::remove(partial_.c_str());
  }
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void add_line(std::string_view line) { out_ << line << '\n'; }
  void finish() {
    out_.close();
    if (!out_ || std::rename(partial_.c_str(), path_.c_str()) != 0)
      throw std::runtime_error(std::format("{}: {}", path_, std::strerror(errno)));
    partial_.clear();
  }

 private:
  std::string path_, partial_;
  std::ofstream out_;
};

}  // namespace

Result<MergedLoss> merge_loss(std::vector<NamedLossRun> parts) {
  if (parts.empty()) return fail("nothing to merge");
  std::vector<std::optional<results::Shard>> shards;
  for (const auto& part : parts) {
    if (const auto different = results::difference(parts.front().run, part.run); !different.empty())
      return fail(
          std::format("{} and {} are not parts of one run: {}", parts.front().name, part.name, different));
    shards.push_back(part.run.shard);
  }
  if (const auto good = check_disjoint(parts); !good) return std::unexpected(good.error());

  MergedLoss out;
  auto& run = out.run;
  const auto& first = parts.front().run;
  run.started = first.started;
  run.options = first.options;
  run.repetitions = first.repetitions;
  run.environment = first.environment;
  run.link = first.link;
  run.endpoints = first.endpoints;
  run.counted_by = first.counted_by;
  run.precision = first.precision;
  run.precision.packets = 0;
  for (auto& [name, part] : parts) {
    run.started = std::min(run.started, part.started);
    run.duration_s += part.duration_s;
    run.repeated += part.repeated;
    run.missed_packets += part.missed_packets;
    worsen(run.precision, part.precision);
    if (part.parts.empty())
      run.parts.push_back(describe_part(part));
    else
      std::ranges::move(part.parts, std::back_inserter(run.parts));
    std::ranges::move(part.samples, std::back_inserter(run.samples));
    part.samples.clear();
  }
  std::ranges::sort(run.samples, {}, [](const auto& sample) {
    return std::pair(std::string_view(sample.transport), sample.sample);
  });
  for (const auto& [name, summary] : first.results) {
    const auto mine = std::ranges::equal_range(run.samples, name, {}, &results::LossSample::transport);
    run.results[name] = summarize_loss(mine, run.endpoints.timeout_s * 1000);
    run.results[name].transport = summary.transport;
  }
  if (const auto missing = missing_samples(run); !missing.empty())
    out.missing = absent_shards(shards) + missing;
  run.complete = out.missing.empty();
  return out;
}

Result<MergedSweep> merge_sweeps(const std::vector<std::string>& paths, const std::string& output) {
  if (paths.empty()) return fail("nothing to merge");
  struct Place {
    std::size_t file = 0;
    std::uint64_t offset = 0;
    std::size_t length = 0;
  };
  std::map<std::uint64_t, Place> places;
  std::vector<std::optional<results::Shard>> shards;
  std::optional<results::SweepHeader> header;
  std::optional<SweepSummary> summary;
  for (std::size_t file = 0; file < paths.size(); ++file) {
    // Read twice: first what it is, so that nothing of another sweep is counted.
    const auto contents = read_sweep_file(paths[file], {});
    if (!contents) return std::unexpected(contents.error());
    if (!header) {
      header = contents->header;
      header->shard.reset();
      summary.emplace(*header);
    }
    if (const auto different = results::difference(*header, contents->header); !different.empty())
      return fail(
          std::format("{} and {} are not parts of one sweep: {}", paths.front(), paths[file], different));
    shards.push_back(contents->header.shard);
    for (const auto cell : contents->cells)
      if (const auto at = places.find(cell); at != places.end())
        return fail(
            std::format("{} and {} overlap: both have cell {}", paths[at->second.file], paths[file], cell));
    const auto again = read_sweep_file(
        paths[file], [&](results::SweepCell&& cell, std::string_view line, std::uint64_t offset) {
          places[cell.cell] = {file, offset, line.size()};
          summary->add(cell);
        });
    if (!again) return std::unexpected(again.error());
  }

  WholeFile out(output);
  out.add_line(results::to_json_line(*header));
  std::string line;
  for (const auto& [cell, place] : places) {
    std::ifstream in(paths[place.file], std::ios::binary);
    in.seekg(static_cast<std::streamoff>(place.offset));
    line.resize(place.length);
    if (!in.read(line.data(), static_cast<std::streamsize>(line.size())))
      return fail(std::format("{}: read failed", paths[place.file]));
    out.add_line(line);
  }
  out.finish();

  MergedSweep merged{summary->run(), {}};
  if (const auto lacking = merged.run.cells - merged.run.cells_finished; lacking > 0)
    merged.missing =
        absent_shards(shards) + std::format("{} of {} cells are missing\n", lacking, merged.run.cells);
  return merged;
}

}  // namespace doxlab::experiment
