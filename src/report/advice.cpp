#include "report/advice.hpp"

#include <cmath>
#include <format>
#include <span>

#include "report/order.hpp"
#include "report/quantile.hpp"
#include "report/server_line.hpp"
#include "report/table.hpp"

namespace doxlab::report {
namespace {

using results::Advice;

std::string advised_ms(const std::optional<double>& value) { return value ? std::format("{:.1f}", *value) : "-"; }
std::string advised_count(const std::optional<std::uint64_t>& value) { return value ? std::to_string(*value) : "-"; }

std::string with_interval(const std::optional<double>& value, const std::optional<double>& low, const std::optional<double>& high) {
  const auto end = [](const std::optional<double>& ms) { return ms ? std::format("{:+.1f}", *ms) : std::string("?"); };
  if (!value && !low && !high) return "-";
  const auto middle = value ? std::format("{:+.1f}", *value) : "?";
  return low || high ? std::format("{} [{}, {}]", middle, end(low), end(high)) : middle;
}

std::string p99_change(const Advice& advice) {
  const auto text = with_interval(advice.delta_p99, advice.delta_p99_low, advice.delta_p99_high);
  const bool has_interval = advice.delta_p99_low || advice.delta_p99_high;
  if (has_interval || advice.after.lookups_under_loss == 0 || advice.after.lookups_under_loss >= advice.samples_needed) return text;
  return std::format("{} (n < {})", text, advice.samples_needed);
}

std::vector<std::string> figures_row(std::string name, const results::AdviceFigures& f, double timeout_s) {
  return {std::move(name), advised_count(f.round_trips), advised_count(f.ip_bytes), advised_ms(f.ms), "",
          f.p99 ? quantile_text(*f.p99, timeout_s) : "-", ""};
}

std::string trips(std::int64_t number) {
  const auto size = std::abs(number);
  return size == 1 ? "one round trip" : std::format("{} round trips", size);
}

std::string bytes_clause(const Advice& advice) {
  if (!advice.before.ip_bytes || !advice.after.ip_bytes) return "";
  const auto more = static_cast<std::int64_t>(*advice.after.ip_bytes) - static_cast<std::int64_t>(*advice.before.ip_bytes);
  if (more == 0) return ", with as many bytes";
  return std::format(", with {} byte{} {}", std::abs(more), std::abs(more) == 1 ? "" : "s", more < 0 ? "fewer" : "more");
}

/// What a change gains, in a sentence.
std::string gain(const Advice& advice) {
  std::string out;
  if (advice.verdict == "round_trips")
    out = std::format("gains {}{}", trips(*advice.round_trips_saved), bytes_clause(advice));
  else if (advice.verdict == "tail")
    out = std::format("gains no round trip on a clean path, but shortens the slowest lookups under loss{}", bytes_clause(advice));
  else if (advice.verdict == "costs")
    out = !advice.after.round_trips            ? "costs everything: no lookup was answered"
          : advice.round_trips_saved.value_or(0) < 0 ? std::format("costs {}{}", trips(*advice.round_trips_saved), bytes_clause(advice))
                                                     : std::format("costs time under loss{}", bytes_clause(advice));
  else
    out = std::format("gains nothing that was measured: as many round trips{}", bytes_clause(advice));
  if (advice.found_on_clean_path && !advice.finding_gone) out += "; the finding stays";
  if (!advice.new_findings.empty()) {
    out += "; in its place there is ";
    for (std::size_t i = 0; i < advice.new_findings.size(); ++i) out += (i > 0 ? ", " : "") + advice.new_findings[i];
  }
  return out + ".";
}

/// The advice on one finding of one transport.
Document of_finding(std::span<const Advice* const> changes, double timeout_s, std::string_view transport) {
  const auto& first = *changes.front();
  Document out = std::format("{}: {}, {} of {} lookups{}\n  {}\n", transport, first.finding, first.lookups, first.of,
                         first.found_on_clean_path ? " on a clean path" : " under loss", first.sentence);
  using enum Table::Align;
  Table table({{"", Left}, {"round trips", Right}, {"bytes", Right}, {"ms", Right}, {"change, paired", Right}, {"p99 ms under loss", Right},
               {"change", Right}});
  table.add_row(figures_row("as it is", first.before, timeout_s));
  std::string lines;
  bool has_rows = false;
  for (const auto* advice : changes) {
    if (!advice->measured) {
      lines += advice->change.empty() ? std::format("  No change was measured: {}.\n", advice->reason)
                                      : std::format("  {}: not measured: {}\n", advice->options, advice->reason);
      continue;
    }
    auto row = figures_row(advice->options, advice->after, timeout_s);
    row[4] = with_interval(advice->delta_ms, advice->delta_ms_low, advice->delta_ms_high);
    row[6] = p99_change(*advice);
    table.add_row(std::move(row));
    has_rows = true;
    lines += std::format("  {} ({}): {}\n", advice->options, advice->change, gain(*advice));
  }
  if (has_rows) out += "\n" + Document(table) + "\n";
  return out + lines + "\n";
}

Document all_advice(const results::AdviceRun& run) {
  Document out;
  for (const auto* name : in_order(run.before)) {
    std::vector<const Advice*> mine;
    for (const auto& advice : run.advice)
      if (advice.transport == name) mine.push_back(&advice);
    while (!mine.empty()) {
      std::vector<const Advice*> same;
      const auto finding = mine.front()->finding;
      std::erase_if(mine, [&](const Advice* advice) {
        if (advice->finding != finding) return false;
        same.push_back(advice);
        return true;
      });
      out += of_finding(same, run.endpoints.timeout_s, name);
    }
  }
  return out;
}

Document headroom_table(const results::AdviceRun& run) {
  if (run.headroom.empty()) return "";
  using enum Table::Align;
  Table table({{"transport", Left}, {"limit on the server's first flight", Left}, {"bytes sent", Right}, {"allowed", Right}, {"headroom", Right}});
  for (const auto& one : run.headroom)
    table.add_row({one.transport,
                   one.limit == "amplification" ? "three times what it received (RFC 9000)" : "initial congestion window (RFC 6928)",
                   std::to_string(one.flight), std::to_string(one.allowed), std::format("{:+}", one.headroom)});
  return Document(table) + "\nHeadroom: bytes that the chain may grow by before it costs a round trip; negative: what is too much.\n";
}

}  // namespace

Document advice_text(const results::AdviceRun& run) {
  Document out = std::format("Advice on lookups of {} {}: {:g} ms each way, chain {} bytes, {} start; {} lookups on a clean path", run.endpoints.qname,
                         run.endpoints.qtype, run.link.one_way_delay_ms, run.endpoints.chain_bytes, run.endpoints.start, run.repetitions_clean);
  out += run.repetitions_loss > 0 ? std::format(", {} with {:g}% loss each way{}, seed {}\n\n", run.repetitions_loss, run.link.loss_percent,
                                                run.link.burst.empty() ? "" : " in bursts", run.link.seed)
                                  : "\n\n";
  if (const auto server = server_line(run.endpoints); !server.empty()) out += server + "\n";
  out += all_advice(run);
  if (run.advice.empty() && run.complete) out += "There is nothing to change: no lookup shows a cost that a setting would end.\n\n";
  if (!run.why_not_measured.empty()) out += run.why_not_measured + "\n\n";
  out += headroom_table(run);
  if (!run.precise) out += "WARNING: the link was more than 1 ms late at p99; times of this run are not to be trusted\n";
  if (!run.complete) out += "INTERRUPTED: only what was measured until then is here\n";
  return out;
}

}  // namespace doxlab::report
