#include "experiment/loss.hpp"

#include <algorithm>
#include <chrono>
#include <format>
#include <tuple>
#include <limits>
#include <numeric>
#include <set>

#include "experiment/accountant.hpp"
#include "experiment/describe.hpp"
#include "experiment/elsewhere.hpp"
#include "experiment/foreign_flows.hpp"
#include "experiment/measured.hpp"
#include "stats/proportion.hpp"
#include "stats/quantile.hpp"
#include "trace/critical_path.hpp"

namespace doxlab::experiment {
namespace {

constexpr auto kNoEnd = std::numeric_limits<std::uint64_t>::max();

results::LossSample describe_loss(const Sample& sample) {
  const auto& result = sample.result;
  results::LossSample out;
  out.transport = to_string(sample.task.transport);
  out.sample = sample.task.sample;
  out.outcome = client::to_string(result.outcome);
  out.reason = result.reason;
  std::tie(out.rcode, out.truncated) = describe_answer(result);
  out.disturbed = sample.disturbed;
  if (result.answered) out.ms = to_ms(*result.answered - result.started);
  const auto [path, volumes, flights] = measure(sample);
  if (path) out.round_trips = path->round_trips();
  out.pkts_c2s = volumes.to_server.packets;
  out.bytes_c2s = volumes.to_server.ip_bytes;
  out.pkts_s2c = volumes.to_client.packets;
  out.bytes_s2c = volumes.to_client.ip_bytes;
  for (const auto& packet : sample.packets) {
    if (packet.fate == link::Fate::Delivered || packet.duplicate) continue;
    auto& lost = packet.place.direction == link::Direction::ToServer ? out.lost_c2s : out.lost_s2c;
    lost.push_back(packet.place.index);
  }
  if (!sample.beside.empty()) out.other_flows = describe_flows(sample.beside);
  return out;
}

results::QuantileEstimate describe(const stats::QuantileEstimate& estimate) {
  results::QuantileEstimate out;
  out.p = estimate.p;
  out.supported = estimate.interval.has_value();
  out.samples_needed = estimate.samples_needed;
  if (!estimate.interval || !estimate.value) return out;
  out.censored = estimate.value->at_least;
  if (!out.censored) out.ms = estimate.value->value;
  if (!estimate.interval->low.at_least) out.low_ms = estimate.interval->low.value;
  if (!estimate.interval->high.at_least) out.high_ms = estimate.interval->high.value;
  return out;
}

/// Of an interrupted run. What was in flight is the slow and the lost, so that the rest would look better than it is:
/// only the sample numbers count that come before the first with an unfinished lookup, on all transports alike. Returns
/// that number.
std::uint64_t drop_beyond_first_unfinished(std::vector<results::LossSample>& samples, std::span<const Task> tasks) {
  std::set<std::pair<std::string_view, std::uint64_t>> finished;
  for (const auto& sample : samples) finished.emplace(sample.transport, sample.sample);
  const auto unfinished = std::ranges::find_if(
      tasks, [&](const Task& task) { return !finished.contains({to_string(task.transport), task.sample}); });
  if (unfinished == tasks.end()) return kNoEnd;
  std::erase_if(samples, [&](const auto& sample) { return sample.sample >= unfinished->sample; });
  return unfinished->sample;
}

}  // namespace

results::LossSummary summarize_loss(std::span<const results::LossSample> samples, double timeout_ms) {
  results::LossSummary out;
  std::vector<double> answered;
  std::size_t used = 0;
  for (const auto& sample : samples) {
    if (sample.disturbed) {
      ++out.disturbed;
      continue;
    }
    ++used;
    if (sample.ms) answered.push_back(*sample.ms);
  }
  out.n = answered.size();
  out.timeouts = used - answered.size();
  const auto interval = stats::clopper_pearson(out.timeouts, used);
  out.no_answer_low = interval.low;
  out.no_answer_high = interval.high;
  if (used == 0) return out;
  out.no_answer_share = static_cast<double>(out.timeouts) / static_cast<double>(used);
  if (!answered.empty()) {
    out.max = std::ranges::max(answered);
    out.mean = std::accumulate(answered.begin(), answered.end(), 0.0) / static_cast<double>(answered.size());
  }
  const stats::Samples all(std::move(answered), out.timeouts, timeout_ms);
  const std::pair<double, std::optional<double>*> wanted[] = {{0.5, &out.p50},  {0.75, &out.p75}, {0.9, &out.p90},
                                                              {0.95, &out.p95}, {0.99, &out.p99}, {0.999, &out.p99_9}};
  for (const auto& [p, field] : wanted) {
    const auto estimate = describe(stats::estimate_quantile(all, p));
    *field = estimate.ms;
    out.quantiles.push_back(estimate);
  }
  return out;
}

results::LossRun run_loss(const Setup& asked, std::size_t repetitions, const std::optional<results::Shard>& shard,
                          const SamplerOptions& sampling, const std::string& command_line, const LossHandlers& handlers,
                          std::stop_token stop) {
  results::LossRun run;
  run.command_line = command_line;
  run.started = std::format("{:%FT%TZ}", std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
  run.repetitions = repetitions;
  run.shard = shard;
  const auto begin = monotonic_now();
  Rig rig(asked);
  const auto& setup = rig.setup();

  std::vector<Task> tasks;
  for (std::uint64_t sample = 0; sample < repetitions; ++sample) {
    if (shard && !shard->has(sample)) continue;
    for (auto t : setup.transports) tasks.push_back({t, sample});
  }
  Accountant accountant(setup.link, [&](const Sample& sample, Account&& account) {
    run.samples.push_back(describe_loss(sample));
    run.samples.back().causes_ms = std::move(account.causes_ms);
    run.counted_by[run.samples.back().transport] = to_string(sample.counting);
    if (handlers.on_sample) handlers.on_sample(run.samples.back());
  });
  run.complete = run_sampler(
      rig, tasks, kept_gentle(sampling, setup),
      [&](Sample&& sample) {
        if (handlers.on_packets) handlers.on_packets(sample);
        accountant.add(std::move(sample));
      },
      [&](const SamplerStatus& status) {
        run.repeated = status.repeated;
        if (handlers.on_status) handlers.on_status(status);
      },
      stop);

  accountant.finish();

  const auto end = run.complete ? kNoEnd : drop_beyond_first_unfinished(run.samples, tasks);
  // Ordered by transport and sample: the file does not depend on which lookup happened to end first.
  std::ranges::sort(run.samples, {}, [](const auto& s) { return std::pair(s.transport, s.sample); });
  for (auto t : setup.transports) {
    const auto name = std::string(to_string(t));
    const auto mine = std::ranges::equal_range(run.samples, name, {}, &results::LossSample::transport);
    run.results[name] = summarize_loss(mine, to_ms(setup.timeout));
    run.results[name].transport = display_name(t);
    if (auto taken_apart = accountant.accounting(t, end); taken_apart.lookups > 0) run.results[name].accounting = std::move(taken_apart);
  }
  run.link = describe_link(setup);
  run.environment = describe_environment(rig.kernel_settings());
  run.endpoints = describe_endpoints(setup);
  run.precision = describe(rig.precision());
  run.missed_packets = rig.missed_packets();
  run.duration_s = to_ms(monotonic_now() - begin) / 1000;
  return run;
}

}  // namespace doxlab::experiment
