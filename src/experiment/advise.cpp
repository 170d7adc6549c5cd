#include "experiment/advise.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <format>

#include "experiment/headroom.hpp"
#include "experiment/loss.hpp"
#include "experiment/propose.hpp"
#include "stats/difference.hpp"

namespace doxlab::experiment {
namespace {

using results::Advice;
using results::AdviceFigures;

constexpr double kTail = 0.99;

bool is_impaired(const link::Impairments& link) {
  return link.burst || link.loss_probability + link.duplicate_probability + link.corrupt_probability + link.reorder_probability > 0;
}

link::Impairments without_impairments(link::Impairments link) {
  link.burst.reset();
  link.loss_probability = link.duplicate_probability = link.corrupt_probability = link.reorder_probability = 0;
  return link;
}

/// One setup, on a clean path and under loss.
struct Measured {
  results::PacketsRun clean;
  std::optional<results::LossRun> loss;
  bool complete() const { return clean.complete && (!loss || loss->complete); }
};

/// Counts lookups over all runs.
class Count {
 public:
  Count(const Progress& progress, std::size_t of) : progress_(progress), of_(of) {}
  void expect(std::size_t more) { of_ += more; }
  void in_this_run(std::size_t done) const {
    if (progress_) progress_(before_ + done, of_);
  }
  void end_run(std::size_t lookups) { before_ += lookups; }

 private:
  const Progress& progress_;
  std::size_t before_ = 0, of_ = 0;
};

std::size_t lookups_of(const Setup& setup, std::size_t repetitions) {
  return setup.transports.size() * (kCleanLookups + (is_impaired(setup.link) ? repetitions : 0));
}

Measured measure_both(const Setup& setup, std::size_t repetitions, const std::string& command_line, Count& count, std::stop_token stop) {
  auto clean = setup;
  clean.link = without_impairments(setup.link);
  Measured out{.clean = run_packets(clean, kCleanLookups, command_line, [&](std::size_t done, std::size_t) { count.in_this_run(done); },
                                    stop)};
  count.end_run(kCleanLookups * setup.transports.size());
  if (!out.clean.complete || !is_impaired(setup.link)) return out;
  out.loss = run_loss(setup, repetitions, std::nullopt, {}, command_line,
                      {{}, [&](const SamplerStatus& status) { count.in_this_run(status.done); }}, stop);
  count.end_run(repetitions * setup.transports.size());
  return out;
}

/// The lookups of one transport in `run`; those without an answer are longer than the timeout.
stats::Samples times_of(const results::LossRun& run, std::string_view transport) {
  std::vector<double> answered;
  std::size_t censored = 0;
  for (const auto& sample : run.samples) {
    if (sample.transport != transport || sample.disturbed) continue;
    if (sample.ms) answered.push_back(*sample.ms);
    else ++censored;
  }
  return stats::Samples(std::move(answered), censored, run.endpoints.timeout_s * 1000);
}

AdviceFigures figures(const Measured& measured, const std::string& transport) {
  AdviceFigures out;
  if (const auto found = measured.clean.results.find(transport); found != measured.clean.results.end() && found->second.samples > 0) {
    out.round_trips = found->second.round_trips;
    out.ip_bytes = found->second.bytes_total;
    out.ms = found->second.ms;
  }
  if (!measured.loss) return out;
  const auto& summary = measured.loss->results.at(transport);
  out.lookups_under_loss = summary.n + summary.timeouts;
  out.no_answer_under_loss = summary.timeouts;
  const auto p99 = std::ranges::find(summary.quantiles, kTail, &results::QuantileEstimate::p);
  if (p99 != summary.quantiles.end()) out.p99 = *p99;
  return out;
}

const results::Accounting* accounting_of(const auto& run, const std::string& transport) {
  const auto found = run.results.find(transport);
  return found != run.results.end() && found->second.accounting ? &*found->second.accounting : nullptr;
}

/// A finding with what is said of it, before any change.
struct Observed {
  Found found;
  Advice advice;
};

/// All findings on the clean path, and of those under loss what more than one lookup in a hundred has: what is rarer
/// cannot move the 99th percentile.
std::vector<Observed> observe_findings(const Setup& setup, const Measured& measured, std::span<const results::Headroom> headroom) {
  std::vector<Observed> out;
  for (const auto t : setup.transports) {
    const auto name = std::string(to_string(t));
    const auto add = [&](const results::Accounting& accounting, bool clean) {
      for (const auto& [finding, total] : accounting.findings) {
        const auto is_same = [&](const Observed& other) { return other.found.transport == t && other.found.finding == finding; };
        const bool is_rare = static_cast<double>(total.lookups) <= (1 - kTail) * static_cast<double>(accounting.lookups);
        if ((!clean && is_rare) || std::ranges::any_of(out, is_same)) continue;
        Observed observed{.found = {t, finding, std::nullopt},
                          .advice = {.transport = name,
                                     .finding = finding,
                                     .sentence = total.sentence,
                                     .lookups = total.lookups,
                                     .of = accounting.lookups,
                                     .found_on_clean_path = clean}};
        auto& shortfall = observed.found.shortfall;
        if (finding == "amplification_stall" && accounting.stall) shortfall = accounting.stall->shortfall;
        if (finding == "certificate_beyond_window" && clean)
          for (const auto& one : headroom)
            if (one.transport == display_name(t) && one.headroom < 0) shortfall = static_cast<std::uint64_t>(-one.headroom);
        observed.advice.shortfall = shortfall;
        out.push_back(std::move(observed));
      }
    };
    if (const auto* clean = accounting_of(measured.clean, name)) add(*clean, true);
    if (measured.loss)
      if (const auto* loss = accounting_of(*measured.loss, name)) add(*loss, false);
  }
  return out;
}

std::optional<double> if_finite(double ms) { return std::isfinite(ms) ? std::optional(ms) : std::nullopt; }

void compare_clean(Advice& out, const results::PacketsSummary& before, const results::PacketsSummary& after, double timeout_ms) {
  if (out.before.round_trips && out.after.round_trips)
    out.round_trips_saved = static_cast<std::int64_t>(*out.before.round_trips) - static_cast<std::int64_t>(*out.after.round_trips);
  const auto bound = [&](const results::PacketsSample& sample) {
    return sample.ms ? stats::Bound{*sample.ms, false} : stats::Bound{timeout_ms, true};
  };
  std::vector<stats::Pair> pairs;
  for (const auto& sample : before.raw) {
    const auto twin = std::ranges::find(after.raw, sample.sample, &results::PacketsSample::sample);
    if (twin != after.raw.end()) pairs.push_back({bound(sample), bound(*twin)});
  }
  if (pairs.empty()) return;
  const auto difference = stats::paired_median_difference(pairs);
  if (difference.value.low == difference.value.high) out.delta_ms = if_finite(difference.value.low);
  if (!difference.interval) return;
  out.delta_ms_low = if_finite(difference.interval->low);
  out.delta_ms_high = if_finite(difference.interval->high);
}

void compare_tails(Advice& out, const results::LossRun& before, const results::LossRun& after) {
  const auto a = times_of(before, out.transport), b = times_of(after, out.transport);
  if (a.size() == 0 || b.size() == 0) return;
  const auto difference = stats::quantile_difference(a, b, kTail);
  out.samples_needed = difference.samples_needed;
  if (difference.value.low == difference.value.high) out.delta_p99 = if_finite(difference.value.low);
  if (!difference.interval) return;
  out.delta_p99_low = if_finite(difference.interval->low);
  out.delta_p99_high = if_finite(difference.interval->high);
}

std::string verdict(const Advice& advice) {
  if (!advice.round_trips_saved) return "costs";  // it answered before, and now does not
  if (*advice.round_trips_saved != 0) return *advice.round_trips_saved > 0 ? "round_trips" : "costs";
  if (advice.delta_p99_high && *advice.delta_p99_high < 0) return "tail";
  if (advice.delta_p99_low && *advice.delta_p99_low > 0) return "costs";
  return "nothing";
}

Advice weigh(const Observed& observed, const Proposal& proposal, const Measured& before, const Measured& after) {
  auto out = observed.advice;
  out.change = proposal.change;
  out.options = proposal.options;
  const auto& name = out.transport;
  out.measured = true;
  out.before = figures(before, name);
  out.after = figures(after, name);
  compare_clean(out, before.clean.results.at(name), after.clean.results.at(name), before.clean.endpoints.timeout_s * 1000);
  if (before.loss && after.loss) compare_tails(out, *before.loss, *after.loss);
  if (const auto* now = accounting_of(after.clean, name)) {
    out.finding_gone = !now->findings.contains(out.finding);
    const auto* then = accounting_of(before.clean, name);
    for (const auto& [finding, total] : now->findings)
      if (then == nullptr || !then->findings.contains(finding)) out.new_findings.push_back(finding);
  }
  out.verdict = verdict(out);
  return out;
}

std::vector<results::Headroom> all_headroom(const Setup& setup, const results::PacketsRun& clean) {
  std::vector<results::Headroom> out;
  for (const auto t : setup.transports)
    if (const auto* accounting = accounting_of(clean, std::string(to_string(t))))
      if (auto one = headroom(setup, t, *accounting)) out.push_back(std::move(*one));
  return out;
}

/// The advice of a proposal for each transport that has its finding. A setup that cannot be (a chain smaller than any)
/// is not measured, and the reason kept.
bool try_proposal(results::AdviceRun& run, const Proposal& proposal, std::span<const Observed> observed, const Measured& before,
                  Count& count, std::stop_token stop) {
  std::optional<Measured> after;
  std::string reason;
  try {
    after = measure_both(proposal.setup, run.repetitions_loss, run.command_line, count, stop);
  } catch (const std::exception& error) {
    reason = error.what();
  }
  if (after && !after->clean.complete) return false;
  if (after) run.precise = run.precise && after->clean.precision.within_1_ms && (!after->loss || after->loss->precision.within_1_ms);
  for (const auto& one : observed) {
    const auto& transports = proposal.setup.transports;
    if (one.found.finding != proposal.finding || std::ranges::find(transports, one.found.transport) == transports.end()) continue;
    if (after) {
      run.advice.push_back(weigh(one, proposal, before, *after));
      continue;
    }
    auto& advice = run.advice.emplace_back(one.advice);
    advice.change = proposal.change;
    advice.options = proposal.options;
    advice.reason = reason;
    advice.before = run.before.at(advice.transport);
  }
  return !after || after->complete();
}

void measure_changes(results::AdviceRun& run, const Setup& setup, std::span<const Observed> observed, const Measured& before,
                     Count& count, std::stop_token stop) {
  std::vector<Found> found;
  for (const auto& one : observed) found.push_back(one.found);
  const auto proposals = propose(setup, found);
  for (const auto& proposal : proposals) count.expect(lookups_of(proposal.setup, run.repetitions_loss));
  for (const auto& proposal : proposals) {
    run.complete = try_proposal(run, proposal, observed, before, count, stop);
    if (!run.complete) return;
  }
}

/// What was found and has no advice yet.
void keep_the_rest(results::AdviceRun& run, std::span<const Observed> observed, std::string_view reason) {
  for (const auto& one : observed) {
    const auto has_advice = [&](const Advice& advice) {
      return advice.transport == one.advice.transport && advice.finding == one.advice.finding;
    };
    if (std::ranges::any_of(run.advice, has_advice)) continue;
    auto& advice = run.advice.emplace_back(one.advice);
    advice.reason = reason;
    advice.before = run.before.at(advice.transport);
  }
}

}  // namespace

results::AdviceRun run_advise(const Setup& setup, std::size_t repetitions, const std::string& command_line, const Progress& progress,
                              std::stop_token stop) {
  results::AdviceRun run;
  run.command_line = command_line;
  run.started = std::format("{:%FT%TZ}", std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
  const auto begin = monotonic_now();
  run.repetitions_clean = kCleanLookups;
  run.repetitions_loss = is_impaired(setup.link) ? repetitions : 0;
  auto as_it_is = setup;
  if (setup.subject) {
    run.why_not_measured = std::format(
        "{} is a server of others, of which doxlab cannot change one thing and leave the rest: no change was measured. What its "
        "handshake may grow by is read off its packets.",
        setup.subject_name);
    as_it_is.link = without_impairments(setup.link);
    run.repetitions_loss = 0;
  }
  Count count(progress, lookups_of(as_it_is, repetitions));
  const auto before = measure_both(as_it_is, repetitions, command_line, count, stop);
  run.complete = before.complete();
  run.environment = before.clean.environment;
  run.link = before.loss ? before.loss->link : before.clean.link;
  run.endpoints = before.clean.endpoints;
  run.precise = before.clean.precision.within_1_ms && (!before.loss || before.loss->precision.within_1_ms);
  for (const auto& [name, summary] : before.clean.results) run.before[name] = figures(before, name);
  run.headroom = all_headroom(setup, before.clean);
  const auto observed = observe_findings(setup, before, run.headroom);
  if (run.complete && !setup.subject) measure_changes(run, setup, observed, before, count, stop);
  keep_the_rest(run, observed,
                setup.subject   ? "not a server of ours"
                : !run.complete ? "interrupted before that"
                                : "nothing in client and resolver changes it");
  run.duration_s = to_ms(monotonic_now() - begin) / 1000;
  return run;
}

}  // namespace doxlab::experiment
