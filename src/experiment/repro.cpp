#include "experiment/repro.hpp"

#include <algorithm>
#include <chrono>
#include <format>

#include "experiment/chosen_losses.hpp"
#include "experiment/describe.hpp"
#include "experiment/foreign_server.hpp"
#include "experiment/repro_verdict.hpp"
#include "experiment/sampler.hpp"
#include "stats/proportion.hpp"

namespace doxlab::experiment {
namespace {

using results::ReproCell;

constexpr std::size_t kSmallChain = 1200, kChain = 3900, kLongChain = 10500;
constexpr double kLosses[] = {0, 0.02, 0.08, 0.15};
constexpr const char* kPostQuantum = "*X25519MLKEM768:*X25519";
constexpr const char* kClassical = "*X25519";
/// Failed handshakes that are taken apart, of each cell.
constexpr std::size_t kAnalysed = 50;

struct Published {
  std::size_t chain_bytes;
  double loss_percent;
  bool post_quantum;
  std::uint64_t failed, handshakes;
};
/// Of stock nginx 1.31.5, 20 ms each way, no handshake within 10 s: the public harness's figures (nginx pull request
/// 1617). The controls, 0 of 100 with the classical group and 0 of 150 with a small chain, are of one loss rate each.
constexpr Published kPublished[] = {{kChain, 0, true, 0, 200},      {kChain, 2, true, 8, 200},
                                    {kChain, 8, true, 30, 200},     {kChain, 15, true, 49, 200},
                                    {kLongChain, 2, true, 4, 200},  {kLongChain, 8, true, 32, 200},
                                    {kLongChain, 8, false, 0, 100}, {kSmallChain, 8, true, 0, 150}};

bool has_failed(const Sample& sample) { return !sample.result.secured; }

class Repro {
 public:
  Repro(const Setup& setup, const ReproOptions& options, const Progress& progress, std::stop_token stop,
        results::ReproRun& run)
      : setup_(setup), options_(options), progress_(progress), stop_(std::move(stop)), run_(run) {
    setup_.transports = {Transport::Doh3};
    setup_.link.duplicate_probability = setup_.link.corrupt_probability = setup_.link.reorder_probability = 0;
    setup_.link.burst.reset();
  }

  bool measure_scripted();
  bool measure_cells();
  bool find_losses_of_first_failure();

 private:
  bool measure(ReproCell cell);
  bool lose_initial_packets(std::size_t chain);
  bool try_sets(const Setup& setup, std::span<const LossSet> sets, const IsMeant& is_meant, bool keeps_all);
  void keep_first_failure(const Sample& sample, const Analysis& analysis, const std::string& server_log);

  Setup setup_;
  const ReproOptions& options_;
  const Progress& progress_;
  std::stop_token stop_;
  results::ReproRun& run_;
  std::size_t done_ = 0, of_ = 0;
  /// The first failure by chance: where it was, and what to try of it.
  std::optional<std::pair<Setup, std::vector<LossSet>>> by_chance_;
  bool has_fault_by_chance_ = false;
};

bool Repro::measure_cells() {
  std::vector<ReproCell> cells;
  for (const auto chain : {kChain, kLongChain, kSmallChain})
    for (const double loss : kLosses)
      for (const bool post_quantum : {true, false}) {
        ReproCell cell{.chain_bytes = chain, .loss_percent = loss * 100, .post_quantum = post_quantum};
        for (const auto& known : kPublished) {
          if (known.chain_bytes != chain || known.loss_percent != cell.loss_percent || known.post_quantum != post_quantum)
            continue;
          cell.published_failed = known.failed;
          cell.published_handshakes = known.handshakes;
        }
        cells.push_back(cell);
      }
  of_ = cells.size() * options_.repetitions;
  return std::ranges::all_of(cells, [this](const ReproCell& cell) { return measure(cell); });
}

bool Repro::measure(ReproCell cell) {
  options_.on_cell(std::format("chain of {} bytes, {:g}% loss, {}", cell.chain_bytes, cell.loss_percent,
                               cell.post_quantum ? "post-quantum" : "classical"));
  auto setup = setup_;
  setup.chain.chain_bytes = cell.chain_bytes;
  setup.link.loss_probability = cell.loss_percent / 100;
  setup.client_groups = cell.post_quantum ? kPostQuantum : kClassical;
  Rig rig(setup);
  std::vector<Task> tasks;
  for (std::uint64_t sample = 0; sample < options_.repetitions; ++sample) tasks.push_back({Transport::Doh3, sample});
  // Kept and taken apart afterwards: computing would disturb the others.
  std::vector<Sample> failed;
  const bool finished = run_sampler(
      rig, tasks, {},
      [&](Sample&& sample) {
        if (sample.disturbed) return;
        ++cell.handshakes;
        if (!has_failed(sample)) return;
        ++cell.failed;
        if (failed.size() < kAnalysed) failed.push_back(std::move(sample));
      },
      [&](const SamplerStatus& status) {
        if (progress_) progress_(done_ + status.done, of_);
      },
      stop_);
  done_ += options_.repetitions;
  std::ranges::sort(failed, {}, [](const Sample& sample) { return sample.task.sample; });
  for (const auto& sample : failed) {
    const auto analysis = analyse(sample, setup.link);
    const bool has_fault = !fault_in(analysis).empty();
    // One with the fault tells more than one that merely lost too much.
    const bool tells_more = !by_chance_ || (has_fault && !has_fault_by_chance_);
    cell.with_fault += has_fault;
    has_fault_by_chance_ = has_fault_by_chance_ || has_fault;
    if (!tells_more || run_.every_time) continue;
    by_chance_.emplace(setup, subsets_of_losses(analysis));
    keep_first_failure(sample, analysis, rig.server_log());
  }
  const auto interval = stats::clopper_pearson(cell.failed, cell.handshakes);
  cell.failed_low = interval.low;
  cell.failed_high = interval.high;
  run_.cells.push_back(cell);
  run_.environment = describe_environment(rig.kernel_settings());
  return finished;
}

void Repro::keep_first_failure(const Sample& sample, const Analysis& analysis, const std::string& server_log) {
  run_.first_failure = explain(sample, analysis);
  run_.server_log = server_log;
  if (options_.on_failure) options_.on_failure(sample);
}

bool Repro::measure_scripted() {
  return lose_initial_packets(kChain) && lose_initial_packets(kLongChain);
}

bool Repro::lose_initial_packets(std::size_t chain) {
  options_.on_cell(std::format("chosen losses, chain of {} bytes", chain));
  auto setup = setup_;
  setup.chain.chain_bytes = chain;
  setup.link.loss_probability = 0;
  setup.client_groups = kPostQuantum;
  LossSet packets;
  {
    Rig rig(setup);
    run_.environment = describe_environment(rig.kernel_settings());
    const Task task{Transport::Doh3, 0};
    if (!run_sampler(rig, {&task, 1}, {},
                     [&](Sample&& sample) { packets = initial_crypto_packets(analyse(sample, setup.link)); }, {}, stop_))
      return false;
  }
  std::vector<LossSet> sets;
  for (const auto& packet : packets) sets.push_back({packet});
  if (packets.size() > 1) sets.push_back(packets);
  return try_sets(setup, sets, carries_initial_crypto, true);
}

/// Where no loss of Initial packets is fatal, those of the handshake that failed by chance are.
bool Repro::find_losses_of_first_failure() {
  if (!by_chance_ || run_.every_time) return true;
  options_.on_cell("the losses of the first failure, again");
  return try_sets(by_chance_->first, by_chance_->second, is_any_packet, false);
}

bool Repro::try_sets(const Setup& setup, std::span<const LossSet> sets, const IsMeant& is_meant, bool keeps_all) {
  if (sets.empty()) return true;
  const auto tried = try_losses(setup, sets, {.has_failed = has_failed, .is_meant = is_meant}, progress_, stop_);
  if (!tried) return false;
  const auto* fatal = ends_every_time(tried->each);
  if (fatal != nullptr && !run_.every_time) {
    run_.every_time = fatal->record;
    if (keeps_all) keep_first_failure(*fatal->failure, analyse(*fatal->failure, setup.link), tried->server_log);
  }
  if (keeps_all)
    for (const auto& one : tried->each)
      if (one.record.attempts > 0) run_.scripted.push_back(one.record);
  return true;
}

std::string now_text() {
  return std::format("{:%FT%TZ}", std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
}

}  // namespace

results::ReproRun run_repro_1616(const Setup& setup, const ReproOptions& options, const std::string& command_line,
                                 const Progress& progress, std::stop_token stop) {
  if (setup.subject && !setup.subject->ports.contains(Transport::Doh3))
    throw std::invalid_argument(std::format("{} does not offer doh3", subject_title(setup)));
  results::ReproRun run;
  run.fault = "nginx-1616";
  run.command_line = command_line;
  run.started = now_text();
  run.endpoints = describe_endpoints(setup);
  const auto begin = monotonic_now();
  Repro repro(setup, options, progress, std::move(stop), run);
  // Chosen losses first: seconds, and the most telling.
  run.complete = repro.measure_scripted() && repro.measure_cells() && repro.find_losses_of_first_failure();
  decide(run);
  run.duration_s = to_ms(monotonic_now() - begin) / 1000;
  return run;
}

}  // namespace doxlab::experiment
