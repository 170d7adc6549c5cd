#include "report/loss.hpp"

#include <format>

#include "report/accounting.hpp"
#include "report/order.hpp"
#include "report/quantile.hpp"
#include "report/server_line.hpp"
#include "report/table.hpp"
#include "report/unusual_answers.hpp"

namespace doxlab::report {
std::string loss_text(const results::LossRun& run) {
  const auto& link = run.link;
  std::string out =
      std::format("Cold lookups of {} {} over {}: {:g} ms each way, MTU {}, loss {:g}% each way{}, seed {}\n", run.endpoints.qname,
                  run.endpoints.qtype, run.endpoints.family == "ipv6" ? "IPv6" : "IPv4", link.one_way_delay_ms, link.mtu,
                  link.loss_percent, link.burst.empty() ? "" : " in bursts (" + link.burst + ")", link.seed);
  out += server_line(run.endpoints);
  if (run.shard) out += std::format("Shard {}/{}: part of {} lookups for each transport\n", run.shard->index, run.shard->of, run.repetitions);
  if (!run.parts.empty()) out += std::format("Merged from {} parts\n", run.parts.size());
  out += '\n';
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
  out += table.to_text();
  out += std::format("\nms from start to answer; [95% interval], exact and free of assumptions on the distribution. Lookups without an\n"
                     "answer within {:g} s count as longer than every other; max and mean are of the answered.\n\n",
                     run.endpoints.timeout_s);
  out += shares.to_text();
  const auto taken_apart = accounted(run);
  for (const auto& part : {time_text(taken_apart), findings_text(taken_apart)})
    if (!part.empty()) out += "\n" + part;
  out += std::format("\n{:.0f} s, {} lookups made again because the machine disturbed them. Link: {:.0f} µs late at the median, {:.0f} µs at p99.\n",
                     run.duration_s, run.repeated, run.precision.p50_us, run.precision.p99_us);
  if (disturbed) {
    out += "WARNING: this machine was too busy; lookups that were disturbed in every attempt are left out:\n";
    for (const auto* name : in_order(run.results)) {
      const auto& s = run.results.at(name);
      if (s.disturbed > 0) out += std::format("  {}: {} of {}\n", s.transport, s.disturbed, s.disturbed + s.n + s.timeouts);
    }
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
