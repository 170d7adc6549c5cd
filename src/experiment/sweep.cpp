#include "experiment/sweep.hpp"

#include <algorithm>

#include "experiment/loss.hpp"

namespace doxlab::experiment {
namespace {

/// The lower median of one field over the answered samples.
template <class Get>
std::optional<std::uint64_t> median(std::span<const results::LossSample> samples, Get get) {
  std::vector<std::uint64_t> values;
  for (const auto& sample : samples)
    if (const std::optional<std::uint64_t> value = get(sample); value && sample.ms && !sample.disturbed)
      values.push_back(*value);
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

results::SweepRow describe_row(const results::SweepCell& cell, std::span<const results::LossSample> samples) {
  using Sample = results::LossSample;
  results::SweepRow out;
  out.cell = cell.cell;
  out.point = cell.point;
  out.name = samples.front().transport;
  out.round_trips = median(samples, [](const Sample& s) { return s.round_trips; });
  out.pkts_c2s = median(samples, [](const Sample& s) { return s.pkts_c2s; });
  out.pkts_s2c = median(samples, [](const Sample& s) { return s.pkts_s2c; });
  out.bytes_c2s = median(samples, [](const Sample& s) { return s.bytes_c2s; });
  out.bytes_s2c = median(samples, [](const Sample& s) { return s.bytes_s2c; });
  out.bytes_total = median(samples, [](const Sample& s) { return s.bytes_c2s + s.bytes_s2c; });
  out.timeout_s = cell.endpoints.timeout_s;
  out.link_within_1_ms = cell.precision.within_1_ms;
  out.latency = summarize_loss(samples, out.timeout_s * 1000);
  const auto transport = parse_transport(out.name);
  out.latency.transport = transport ? display_name(*transport) : out.name;
  return out;
}

/// Cells of a shard below `cells`.
std::uint64_t cells_of(const std::optional<results::Shard>& shard, std::uint64_t cells) {
  if (!shard) return cells;
  return cells / shard->of + (cells % shard->of > shard->index ? 1 : 0);
}

}  // namespace

SweepSummary::SweepSummary(results::SweepHeader header) {
  run_.cells = cells_of(header.shard, results::cell_count(header.grid).value_or(0));
  run_.header = std::move(header);
}

void SweepSummary::add(const results::SweepCell& cell) {
  ++run_.cells_finished;
  run_.duration_s += cell.duration_s;
  run_.repeated += cell.repeated;
  const std::span all(cell.samples);
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].transport == all[begin].transport) ++end;
    run_.rows.push_back(describe_row(cell, all.subspan(begin, end - begin)));
  }
}

results::SweepRun SweepSummary::run() const {
  auto out = run_;
  std::ranges::stable_sort(out.rows, {}, [](const results::SweepRow& row) {
    const auto transport = parse_transport(row.name);
    return std::pair(
        row.cell,
        transport ? std::ranges::find(kAllTransports, *transport) - std::ranges::begin(kAllTransports) : 0);
  });
  return out;
}

bool run_sweep(const results::SweepHeader& header, const std::set<std::uint64_t>& finished,
               const std::function<Setup(const std::vector<std::string>& point)>& setup_of, SweepFile* file,
               const SweepHandlers& handlers, std::stop_token stop) {
  const auto cells = results::cell_count(header.grid).value_or(0);
  SweepProgress progress{.cells_finished = finished.size(), .cells = cells_of(header.shard, cells)};
  const auto to_do =
      static_cast<double>(progress.cells - std::min<std::uint64_t>(finished.size(), progress.cells));
  const auto begin = monotonic_now();
  double done = 0;  // cells, in this call
  for (std::uint64_t number = 0; number < cells; ++number) {
    if ((header.shard && !header.shard->has(number)) || finished.contains(number)) continue;
    if (stop.stop_requested()) return false;
    progress.cell = number;
    progress.point = results::cell_point(header.grid, number);
    const auto on_status = [&](const SamplerStatus& status) {
      if (!handlers.on_progress) return;
      const double share = (done + static_cast<double>(status.done) / static_cast<double>(status.of)) / to_do;
      if (share > 0) progress.seconds_left = to_ms(monotonic_now() - begin) / 1000 * (1 - share) / share;
      progress.lookups = status;
      handlers.on_progress(progress);
    };
    auto run =
        run_loss(setup_of(progress.point), header.repetitions, std::nullopt, {}, {}, {{}, on_status}, stop);
    if (!run.complete) return false;
    const results::SweepCell cell{.cell = number,
                                  .point = progress.point,
                                  .started = std::move(run.started),
                                  .duration_s = run.duration_s,
                                  .repeated = run.repeated,
                                  .link = std::move(run.link),
                                  .endpoints = std::move(run.endpoints),
                                  .precision = run.precision,
                                  .environment = std::move(run.environment),
                                  .samples = std::move(run.samples)};
    if (file != nullptr) file->append(cell);
    ++progress.cells_finished;
    ++done;
    if (handlers.on_cell) handlers.on_cell(cell);
  }
  return true;
}

}  // namespace doxlab::experiment
