#include "compare/compare.hpp"

#include <cmath>
#include <format>

#include "compare/comparability.hpp"
#include "compare/quantity.hpp"
#include "stats/difference.hpp"
#include "stats/proportion.hpp"

namespace doxlab::compare {
namespace {

using results::ComparedExperiment;
using results::QuantityDifference;

std::optional<double> finite(double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; }

/// From the interval of the difference, or from that there is none.
std::string verdict(const QuantityDifference& it, bool has_interval, double noise) {
  if (!has_interval) return "not decided";
  if (it.low && *it.low > noise) return "higher";
  if (it.high && *it.high < -noise) return "lower";
  return "same";
}

QuantityDifference of_quantiles(const Quantity& quantity, const stats::Samples& a, const stats::Samples& b, double noise_ms) {
  QuantityDifference out{.quantity = std::string(quantity.name), .unit = std::string(quantity.unit)};
  if (a.size() == 0 || b.size() == 0) {
    out.verdict = "not decided";
    return out;
  }
  const auto value = [&](const stats::Samples& samples) {
    const auto bound = stats::quantile(samples, quantity.p);
    return bound.at_least ? std::nullopt : std::optional(bound.value);
  };
  out.a = value(a);
  out.b = value(b);
  if (out.a && out.b) out.delta = *out.b - *out.a;
  const auto estimate = stats::quantile_difference(a, b, quantity.p);
  out.samples_needed = estimate.samples_needed;
  if (estimate.interval) {
    out.low = finite(estimate.interval->low);
    out.high = finite(estimate.interval->high);
  }
  out.verdict = verdict(out, estimate.interval.has_value(), quantity.unit == "ms" ? noise_ms : 0);
  return out;
}

/// Percentage points. Each share has an interval that misses in 2.5 of 100 cases, so that both hold in 95.
QuantityDifference of_shares(std::size_t of_a, std::size_t all_a, std::size_t of_b, std::size_t all_b) {
  QuantityDifference out{.quantity = "no_answer_percent", .unit = "%"};
  if (all_a == 0 || all_b == 0) {
    out.verdict = "not decided";
    return out;
  }
  const double each = 1 - (1 - stats::kDefaultConfidence) / 2;
  const auto a = stats::clopper_pearson(of_a, all_a, each), b = stats::clopper_pearson(of_b, all_b, each);
  out.a = 100.0 * static_cast<double>(of_a) / static_cast<double>(all_a);
  out.b = 100.0 * static_cast<double>(of_b) / static_cast<double>(all_b);
  out.delta = *out.b - *out.a;
  out.low = 100 * (b.low - a.high);
  out.high = 100 * (b.high - a.low);
  out.verdict = verdict(out, true, 0);
  return out;
}

template <class Samples>
std::vector<QuantityDifference> of_all(std::span<const Quantity> quantities, const Samples& a, const Samples& b, double timeout_s,
                                       double noise_ms) {
  std::vector<QuantityDifference> out;
  for (const auto& quantity : quantities)
    if (quantity.p > 0)
      out.push_back(of_quantiles(quantity, values(a, quantity.name, timeout_s), values(b, quantity.name, timeout_s), noise_ms));
  return out;
}

std::vector<QuantityDifference> differences(const results::PacketsRun& a, const results::PacketsRun& b, const std::string& transport,
                                            double noise_ms) {
  const auto &in_a = a.results.at(transport), &in_b = b.results.at(transport);
  auto out = of_all(packets_quantities(), std::span(in_a.raw), std::span(in_b.raw), a.endpoints.timeout_s, noise_ms);
  out.push_back(of_shares(in_a.no_answer, in_a.samples + in_a.no_answer, in_b.no_answer, in_b.samples + in_b.no_answer));
  return out;
}

std::vector<QuantityDifference> differences(const results::LossRun& a, const results::LossRun& b, const std::string& transport,
                                            double noise_ms) {
  const auto &in_a = a.results.at(transport), &in_b = b.results.at(transport);
  auto out = of_all(loss_quantities(), samples_of(a, transport), samples_of(b, transport), a.endpoints.timeout_s, noise_ms);
  out.push_back(of_shares(in_a.timeouts, in_a.n + in_a.timeouts, in_b.timeouts, in_b.n + in_b.timeouts));
  return out;
}

template <class Run>
void warn_of(std::vector<std::string>& out, const Run& run, std::string_view which) {
  if (!run.complete) out.push_back(std::format("{} was interrupted, or parts of it are missing", which));
  if (!run.precision.within_1_ms) out.push_back(std::format("the link of {} was more than 1 ms late at p99", which));
  std::uint64_t disturbed = 0;
  for (const auto& [name, summary] : run.results) disturbed += summary.disturbed;
  if (disturbed > 0) out.push_back(std::format("{} has {} lookups that the machine disturbed; they are left out", which, disturbed));
}

template <class Run>
ComparedExperiment compare_runs(std::string name, const Run& a, const Run& b, double noise_ms) {
  ComparedExperiment out{.experiment = std::move(name)};
  const Conditions of_a{a.environment, a.link, a.endpoints}, of_b{b.environment, b.link, b.endpoints};
  out.obstacles = obstacles(of_a, of_b);
  out.changes = changes(of_a, of_b);
  warn_of(out.warnings, a, "A");
  warn_of(out.warnings, b, "B");
  for (const auto& [transport, summary] : a.results)
    if (!b.results.contains(transport)) out.only_in_a.push_back(transport);
  for (const auto& [transport, summary] : b.results) {
    if (!a.results.contains(transport)) out.only_in_b.push_back(transport);
    else if (out.obstacles.empty()) out.results[transport] = {summary.transport, differences(a, b, transport, noise_ms)};
  }
  return out;
}

template <class Run>
void add(results::Comparison& out, const char* name, const std::optional<Run>& a, const std::optional<Run>& b, double noise_ms) {
  if (a && b) out.experiments.push_back(compare_runs(name, *a, *b, noise_ms));
  else if (a) out.only_in_a.emplace_back(name);
  else if (b) out.only_in_b.emplace_back(name);
}

}  // namespace

results::Comparison compare(const results::Study& a, const results::Study& b, double noise_ms) {
  results::Comparison out;
  out.a_command_line = a.command_line;
  out.b_command_line = b.command_line;
  out.a_started = a.started;
  out.b_started = b.started;
  add(out, "packets", a.packets, b.packets, noise_ms);
  add(out, "as_published", a.as_published, b.as_published, noise_ms);
  add(out, "loss", a.loss, b.loss, noise_ms);
  return out;
}

}  // namespace doxlab::compare
