#include "report/dropmap.hpp"

#include <algorithm>
#include <format>

#include "report/order.hpp"
#include "report/quantile.hpp"
#include "report/server_line.hpp"
#include "report/table.hpp"

namespace doxlab::report {
namespace {

using results::DropmapRow;
using results::DropmapSummary;

std::string event_done(const results::DropmapRun& run) {
  if (run.action == "flip") return "one bit of it flipped";
  if (run.action == "dup") return "doubled";
  if (run.action == "delay") return std::format("delayed by {:g} ms", run.extra_delay_ms);
  return "lost";
}

std::string cost(const DropmapRow& row) {
  const auto met = row.lookups - std::min(row.not_sent, row.lookups);
  if (met == 0) return row.disturbed > 0 ? "disturbed" : "-";
  if (row.no_answer == met) return "no answer";
  std::string out = row.lost_ms ? std::format("{:+.1f}", *row.lost_ms) : "-";
  if (row.no_answer > 0) out += std::format(" ({} of {} died)", row.no_answer, met);
  return out;
}

std::string name_of(const results::DropmapPacket& packet) {
  return std::format("{} {}", packet.direction == "c2s" ? "c→s" : "s→c", packet.index);
}

/// Long lists of frames are in the JSON.
std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 90;
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

std::string recovered(const DropmapRow& row) {
  if (row.after_answer) return row.recovery.empty() ? "after the answer" : "after the answer; " + row.recovery;
  if (row.no_answer > 0 && !row.ms) return std::format("{}: {}", row.outcome, row.reason);
  return row.recovery;
}

std::string reference_text(const DropmapSummary& summary) {
  const auto& r = summary.reference;
  if (!r.ms) return std::format("{}: no lookup without any event was answered, so there is no map\n", summary.transport);
  return std::format("{}: {:.1f} ms ({:.1f}–{:.1f}, {} lookups), {} round trips, {} packets c→s and {} s→c until the answer\n",
                     summary.transport, *r.ms, r.ms_min.value_or(*r.ms), r.ms_max.value_or(*r.ms), r.lookups,
                     r.round_trips.value_or(0), r.pkts_c2s, r.pkts_s2c);
}

Document rows_text(const DropmapSummary& summary) {
  using enum Table::Align;
  Table table({{"packet", Left},
               {"sent ms", Right},
               {"IP bytes", Right},
               {"ms lost", Right},
               {"round trips", Right},
               {"it carried", Left},
               {"what happened", Left}});
  for (const auto& row : summary.rows) {
    const auto& packet = row.packets.front();
    table.add_row({name_of(packet), std::format("{:.1f}", packet.sent_ms), std::to_string(packet.ip_bytes), cost(row),
                   row.round_trips ? std::to_string(*row.round_trips) : "-", shortened(packet.carried), recovered(row)});
  }
  return Document(table);
}

/// The dearest pairs; all of them are in the JSON.
Document pairs_text(const DropmapSummary& summary) {
  constexpr std::size_t kShown = 10;
  if (summary.pairs.empty()) return {};
  auto sorted = summary.pairs;
  const auto died = std::ranges::count_if(sorted, [](const auto& row) { return row.no_answer > 0 && !row.ms; });
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& row) { return row.lost_ms.value_or(-1); });
  sorted.resize(std::min(sorted.size(), kShown));
  using enum Table::Align;
  Table table({{"first", Left}, {"second", Left}, {"ms lost", Right}, {"they carried", Left}});
  for (const auto& row : sorted)
    if (row.lost_ms)  // the others are those above
      table.add_row({name_of(row.packets[0]), name_of(row.packets[1]), cost(row),
                     std::format("{} | {}", shortened(row.packets[0].carried), shortened(row.packets[1].carried))});
  return std::format("\nOf {} pairs {} had no answer; the dearest of the others:\n", summary.pairs.size(), died) + Document(table);
}

std::string expected_ms(const results::ExpectedQuantile& q, double timeout_s) {
  const auto text = [&](const std::optional<double>& ms) {
    return ms ? std::format("{:.1f}", *ms) : std::format("≥{:g} s", timeout_s);
  };
  const auto low = text(q.low_ms), high = text(q.high_ms);
  return low == high ? low : std::format("{} to {}", low, high);
}

Document expected_text(const results::DropmapRun& run) {
  using enum Table::Align;
  std::vector<Table::Column> columns = {{"transport", Left}, {"no loss", Right}, {"one", Right}, {"two", Right},
                                        {"not explained", Right}};
  for (const auto* name : {"p50", "p90", "p95", "p99"}) columns.push_back({std::format("{} ms", name), Right});
  Table table(columns);
  double loss = 0;
  bool has_any = false;
  for (const auto* name : in_order(run.results)) {
    const auto& summary = run.results.at(name);
    if (!summary.expected) continue;
    has_any = true;
    const auto& e = *summary.expected;
    loss = e.loss_percent;
    const auto share = [&](std::size_t losses) {
      return losses < e.by_losses.size() ? std::format("{:.2f}%", e.by_losses[losses] * 100) : std::string("-");
    };
    std::vector<std::string> row = {summary.transport, share(0), share(1), share(2),
                                    std::format("{:.2f}%", e.not_explained * 100)};
    for (const auto& q : e.quantiles) row.push_back(expected_ms(q, run.endpoints.timeout_s));
    row.resize(columns.size(), "-");
    table.add_row(row);
    if (!summary.measured) continue;
    row = {"  measured", "", "", "", std::format("n={}", summary.measured->n + summary.measured->timeouts)};
    for (const auto& q : e.quantiles) {
      const auto same = std::ranges::find(summary.measured->quantiles, q.p, &results::QuantileEstimate::p);
      row.push_back(same == summary.measured->quantiles.end() ? "-"
                                                              : quantile_text(*same, run.endpoints.timeout_s));
    }
    row.resize(columns.size(), "-");
    table.add_row(row);
  }
  if (!has_any) return {};
  Document out = std::format("\nWhat follows for lookups that lose {:g}% of their packets each way, independently:\n", loss);
  out += table;
  out += "A range: the quantile depends on lookups with more losses than the map has, or on rows that are missing.\n";
  if (!run.measured_from.empty()) out += std::format("Measured: {}\n", run.measured_from);
  return out;
}

}  // namespace

Document dropmap_text(const results::DropmapRun& run) {
  Document out = std::format(
      "Each packet of a lookup {} in turn: {:g} ms each way, median of {} lookups a row against lookups without any event\n",
      event_done(run), run.link.one_way_delay_ms, run.repetitions);
  out += server_line(run.endpoints);
  for (const auto* name : in_order(run.results)) {
    const auto& summary = run.results.at(name);
    out += "\n" + reference_text(summary);
    if (!summary.rows.empty()) out += rows_text(summary);
    out += pairs_text(summary);
  }
  out += expected_text(run);
  std::uint64_t disturbed = 0;
  for (const auto& [name, summary] : run.results)
    for (const auto* rows : {&summary.rows, &summary.pairs})
      for (const auto& row : *rows) disturbed += row.disturbed;
  if (disturbed > 0)
    out += std::format("WARNING: {} lookups were disturbed by a busy machine in every attempt and are left out\n", disturbed);
  if (!run.precision.within_1_ms)
    out += "WARNING: the link was more than 1 ms late at p99; times of this run are not to be trusted (is the machine busy?)\n";
  if (!run.complete) out += "INTERRUPTED: only what was measured until then is here\n";
  return out;
}

}  // namespace doxlab::report
