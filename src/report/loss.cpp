#include "report/loss.hpp"

#include <algorithm>
#include <cmath>
#include <format>
#include <map>
#include <vector>

#include "report/accounting.hpp"
#include "report/order.hpp"
#include "report/quantile.hpp"
#include "report/server_line.hpp"
#include "report/spark.hpp"
#include "report/table.hpp"
#include "report/unusual_answers.hpp"

namespace doxlab::report {
namespace {

/// How the times of the answered lookups are spread; empty if the samples are in a file of their own.
Document distributions(const results::LossRun& run) {
  std::map<std::string, std::vector<double>> times;
  double low = run.endpoints.timeout_s * 1000, high = 0;
  for (const auto& sample : run.samples) {
    if (sample.disturbed || !sample.ms) continue;
    times[sample.transport].push_back(*sample.ms);
    low = std::min(low, *sample.ms);
    high = std::max(high, *sample.ms);
  }
  if (times.empty() || !(low > 0) || !(high > low)) return {};
  constexpr std::size_t kCells = 48;
  const auto left = std::format("{:.0f} ms", low), right = std::format("{:.0f} ms", high);
  const auto middle = std::format("{:.0f}", std::sqrt(low * high));
  const auto gap = [](std::size_t begin, std::size_t end) { return std::string(end > begin ? end - begin : 1, ' '); };
  auto scale = left + gap(left.size(), kCells / 2 - middle.size() / 2) + middle;
  scale += gap(scale.size(), kCells - right.size()) + right;
  Table table({{"transport", Table::Align::Left}, {scale, Table::Align::Left}});
  for (const auto* name : in_order(run.results))
    if (const auto found = times.find(name); found != times.end())
      table.add_row({run.results.at(name).transport, spark(found->second, low, high, kCells)});
  return "\nAnswered lookups by ms, on a logarithmic scale (heights: square root of the count)\n" + Document(table);
}

}  // namespace

Document loss_text(const results::LossRun& run) {
  Document out = std::format("Cold lookups of {} {} over {}: {}\n", run.endpoints.qname, run.endpoints.qtype,
                             run.endpoints.family == "ipv6" ? "IPv6" : "IPv4", path_text(run.link, run.endpoints));
  out += server_line(run.endpoints) + client_line(run.endpoints);
  if (run.shard) out += std::format("Shard {}/{}: part of {} lookups for each transport\n", run.shard->index, run.shard->of, run.repetitions);
  if (!run.parts.empty()) out += std::format("Merged from {} parts\n", run.parts.size());
  out += "\n";
  using enum Table::Align;
  std::vector<Table::Column> columns = {{"transport", Left}, {"answered", Right}, {"no answer", Right}};
  for (const char* title : {"p50", "p75", "p90", "p95", "p99", "p99.9", "max", "mean"}) columns.push_back({title, Right});
  Table table(columns);
  Table shares({{"transport", Left}, {"no answer", Right}, {"share", Right}, {"95% interval", Right}});
  bool disturbed = false;
  for (const auto* name : in_order(run.results)) {
    const auto& s = run.results.at(name);
    std::vector<std::string> row = {s.transport, std::to_string(s.n), std::to_string(s.timeouts)};
    for (const auto& q : s.quantiles) row.push_back(quantile_text(q, run.endpoints.timeout_s));
    row.resize(columns.size() - 2, "-");
    row.push_back(s.max ? std::format("{:.1f}", *s.max) : "-");
    row.push_back(s.mean ? std::format("{:.1f}", *s.mean) : "-");
    table.add_row(std::move(row));
    shares.add_row({s.transport, std::format("{} of {}", s.timeouts, s.n + s.timeouts),
                    s.n + s.timeouts > 0 ? std::format("{:.2f}%", s.no_answer_share * 100) : "-",
                    std::format("{:.2f}% to {:.2f}%", s.no_answer_low * 100, s.no_answer_high * 100)});
    disturbed = disturbed || s.disturbed > 0;
  }
  out += table;
  out += std::format("\nms from start to answer; [95% interval], exact and free of assumptions on the distribution. Lookups without an\n"
                     "answer within {:g} s count as longer than every other; max and mean are of the answered.\n\n",
                     run.endpoints.timeout_s);
  out += shares;
  out += distributions(run);
  const auto taken_apart = accounted(run);
  for (const auto& part : {time_text(taken_apart), findings_text(taken_apart)})
    if (!part.empty()) out += "\n" + part;
  out += std::format("\n{:.0f} s, {} lookups made again because the machine disturbed them.", run.duration_s, run.repeated);
  if (run.endpoints.direct) out += "\n" + counting_text(run.counted_by, run.missed_packets);
  else out += std::format(" Link: {:.0f} µs late at the median, {:.0f} µs at p99.\n", run.precision.p50_us, run.precision.p99_us);
  if (disturbed) {
    out += "WARNING: this machine was too busy; lookups that were disturbed in every attempt are left out:\n";
    for (const auto* name : in_order(run.results)) {
      const auto& s = run.results.at(name);
      if (s.disturbed > 0) out += std::format("  {}: {} of {}\n", s.transport, s.disturbed, s.disturbed + s.n + s.timeouts);
    }
  }
  for (const auto* name : in_order(run.results)) {
    OtherTraffic beside;
    for (const auto& sample : run.samples)
      if (sample.transport == name && sample.other_flows) beside.add(*sample.other_flows);
    out += beside.text(run.results.at(name).transport);
  }
  for (const auto* name : in_order(run.results)) {
    UnusualAnswers unusual;
    for (const auto& sample : run.samples)
      if (sample.transport == name && !sample.disturbed) unusual.add(sample);
    out += unusual.text(run.results.at(name).transport, run.results.at(name).n);
  }
  if (!run.precision.within_1_ms) out += "WARNING: the link was more than 1 ms late at p99; times of this run are not to be trusted\n";
  if (!run.complete)
    out += run.parts.empty() ? "INTERRUPTED: only lookups before the first that was not finished count, as many of each transport\n" : "INCOMPLETE: samples of some parts are missing\n";
  return out;
}

}  // namespace doxlab::report
