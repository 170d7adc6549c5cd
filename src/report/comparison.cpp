#include "report/comparison.hpp"

#include <format>

#include "report/order.hpp"
#include "report/table.hpp"

namespace doxlab::report {
namespace {

using results::QuantityDifference;

std::string amount(const std::optional<double>& value, const std::string& unit, bool is_signed) {
  if (!value) return "≥ timeout";
  if (unit == "ms") return is_signed ? std::format("{:+.1f}", *value) : std::format("{:.1f}", *value);
  if (unit == "%") return is_signed ? std::format("{:+.2f}", *value) : std::format("{:.2f}", *value);
  return is_signed ? std::format("{:+.0f}", *value) : std::format("{:.0f}", *value);
}

std::string interval(const QuantityDifference& it) {
  if (it.verdict == "not decided") return it.samples_needed > 0 ? std::format("n < {}", it.samples_needed) : "-";
  const auto end = [&](const std::optional<double>& value) { return value ? amount(value, it.unit, true) : std::string("?"); };
  return std::format("[{}, {}]", end(it.low), end(it.high));
}

bool is_time_of_lookup(const QuantityDifference& it) { return it.quantity == "ms" || it.quantity == "p50" || it.quantity == "p99"; }
bool differs(const QuantityDifference& it) { return it.verdict == "lower" || it.verdict == "higher"; }

std::string names(const std::vector<std::string>& all) {
  std::string out;
  for (const auto& name : all) out += (out.empty() ? "" : ", ") + name;
  return out;
}

Table table_of(const results::ComparedExperiment& experiment, bool all) {
  using enum Table::Align;
  Table table({{"transport", Left}, {"quantity", Left}, {"A", Right}, {"B", Right}, {"B - A", Right}, {"95% interval", Right}, {"B is", Left}});
  for (const auto* name : in_order(experiment.results)) {
    const auto& one = experiment.results.at(name);
    for (const auto& it : one.differences) {
      if (!all && !differs(it) && !is_time_of_lookup(it)) continue;
      const auto title = it.unit.empty() ? it.quantity : std::format("{} [{}]", it.quantity, it.unit);
      const bool known = it.a || it.b || it.verdict != "not decided";
      table.add_row({one.transport, title, known ? amount(it.a, it.unit, false) : "-", known ? amount(it.b, it.unit, false) : "-",
                     it.delta ? amount(it.delta, it.unit, true) : "-", interval(it), it.verdict});
    }
  }
  return table;
}

Document experiment_text(const results::ComparedExperiment& experiment, bool all) {
  Document out = std::format("== {} ==\n\n", experiment.experiment);
  if (!experiment.obstacles.empty()) {
    out += "NOT COMPARABLE: they were not measured under the same conditions\n";
    for (const auto& obstacle : experiment.obstacles) out += std::format("  {}\n", obstacle);
    return out + "\n";
  }
  if (!experiment.changes.empty()) {
    out += "What differs:\n";
    for (const auto& change : experiment.changes) out += std::format("  {}\n", change);
    out += "\n";
  }
  for (const auto& warning : experiment.warnings) out += std::format("WARNING: {}\n", warning);
  out += table_of(experiment, all);
  if (!experiment.only_in_a.empty()) out += std::format("Only in A: {}\n", names(experiment.only_in_a));
  if (!experiment.only_in_b.empty()) out += std::format("Only in B: {}\n", names(experiment.only_in_b));
  return out + "\n";
}

}  // namespace

Document comparison_text(const results::Comparison& comparison, bool all) {
  Document out = std::format("A: {}  ({}, {})\nB: {}  ({}, {})\n\n", comparison.a, comparison.a_command_line, comparison.a_started,
                                comparison.b, comparison.b_command_line, comparison.b_started);
  for (const auto& experiment : comparison.experiments) out += experiment_text(experiment, all);
  if (!comparison.only_in_a.empty()) out += std::format("Experiments only in A: {}\n", names(comparison.only_in_a));
  if (!comparison.only_in_b.empty()) out += std::format("Experiments only in B: {}\n", names(comparison.only_in_b));
  if (comparison.experiments.empty()) return out + "NOT COMPARABLE: they have no experiment in common\n";
  out += "Medians of packets, quantiles of loss, in milliseconds and IP bytes; negative: B is less. The interval holds the true\n"
         "difference in at least 95 of 100 cases. \"same\" means that nothing was found beyond noise, not that there is nothing.\n";
  if (!all) out += "Shown are times and what differs; --all shows every quantity.\n";
  return out;
}

}  // namespace doxlab::report
