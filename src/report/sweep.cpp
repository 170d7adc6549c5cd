#include "report/csv.hpp"
#include "report/sweep.hpp"

#include <algorithm>
#include <format>

#include "report/quantile.hpp"
#include "report/table.hpp"

namespace doxlab::report {
namespace {

constexpr double kSweepQuantiles[] = {0.5, 0.95, 0.99};

const results::QuantileEstimate* find_quantile(const results::SweepRow& row, double p) {
  const auto& all = row.latency.quantiles;
  const auto at = std::ranges::find(all, p, &results::QuantileEstimate::p);
  return at == all.end() ? nullptr : &*at;
}

std::string whole_number(const std::optional<std::uint64_t>& value) {
  return value ? std::to_string(*value) : "-";
}

std::string grid_text(const results::SweepHeader& header) {
  std::string out;
  for (const auto& axis : header.grid) {
    out += (out.empty() ? "" : " × ") + axis.option + ' ';
    for (std::size_t i = 0; i < axis.values.size(); ++i) out += (i > 0 ? ", " : "") + axis.values[i];
  }
  return out;
}

/// What differs from the defaults is not known here, so the few that every reader asks for are named. Bursts
/// take the place of independent losses.
std::string fixed_text(const results::SweepHeader& header) {
  std::string out;
  const auto burst = header.options.find("burst");
  const bool in_bursts = std::ranges::contains(header.grid, "burst", &results::GridAxis::option) ||
                         (burst != header.options.end() && !burst->second.empty());
  for (const char* name : {"qname", "qtype", "delay", "loss", "burst", "mtu", "seed"})
    if (const auto at = header.options.find(name);
        at != header.options.end() && !at->second.empty() && !(in_bursts && at->first == "loss"))
      out += std::format("{}{} {}", out.empty() ? "" : ", ", name, at->second);
  return out;
}

/// Cells whose figures need care, each once.
template <class Predicate>
std::string cells_where(const results::SweepRun& run, Predicate predicate) {
  std::string out;
  std::optional<std::uint64_t> last;
  for (const auto& row : run.rows) {
    if (!predicate(row) || row.cell == last) continue;
    last = row.cell;
    out += std::format("  {}\n", results::point_text(run.header.grid, row.point));
  }
  return out;
}

template <class T>
std::string csv_number(const std::optional<T>& value) {
  return value ? std::format("{}", *value) : std::string();
}

}  // namespace

Document sweep_text(const results::SweepRun& run) {
  const auto& header = run.header;
  Document out = std::format("{}: {} cold lookups for each transport in each of {} cells",
                                grid_text(header), header.repetitions, run.cells);
  if (header.shard) out += std::format(" (shard {}/{})", header.shard->index, header.shard->of);
  out += std::format("\nIn all cells: {}\n\n", fixed_text(header));

  using enum Table::Align;
  std::vector<Table::Column> columns;
  for (const auto& axis : header.grid) columns.push_back({axis.option, Right});
  columns.push_back({"transport", Left});
  for (const char* title : {"n", "no answer", "round trips", "p50 ms", "p95 ms", "p99 ms", "IP bytes"})
    columns.push_back({title, Right});
  Table table(columns);
  std::uint64_t disturbed = 0;
  for (const auto& row : run.rows) {
    auto cells = row.point;
    cells.push_back(row.latency.transport);
    cells.push_back(std::to_string(row.latency.n + row.latency.timeouts));
    cells.push_back(std::to_string(row.latency.timeouts));
    cells.push_back(whole_number(row.round_trips));
    for (const double p : kSweepQuantiles) {
      const auto* q = find_quantile(row, p);
      cells.push_back(q != nullptr ? quantile_text(*q, row.timeout_s) : "-");
    }
    cells.push_back(whole_number(row.bytes_total));
    table.add_row(std::move(cells));
    disturbed += row.latency.disturbed;
  }
  out += table;
  out += std::format(
      "\nms from start to answer; [95% interval], exact and free of assumptions on the distribution. Lookups "
      "without an answer\n"
      "count as longer than every other. Round trips and bytes are medians over the answered.\n"
      "{:.0f} s, {} lookups made again because the machine disturbed them.\n",
      run.duration_s, run.repeated);
  if (disturbed > 0)
    out += std::format(
        "WARNING: this machine was too busy; {} lookups that were disturbed in every attempt are left out, "
        "in\n{}",
        disturbed, cells_where(run, [](const auto& row) { return row.latency.disturbed > 0; }));
  if (const auto late = cells_where(run, [](const auto& row) { return !row.link_within_1_ms; });
      !late.empty())
    out += "WARNING: the link was more than 1 ms late at p99; times are not to be trusted in\n" + late;
  if (run.cells_finished < run.cells)
    out += std::format("INCOMPLETE: {} of {} cells are here\n", run.cells_finished, run.cells);
  return out;
}

std::string sweep_csv(const results::SweepRun& run) {
  std::string out;
  for (const auto& axis : run.header.grid) out += csv_field(axis.option) + ',';
  out +=
      "transport,n,no_answer,no_answer_share,no_answer_low,no_answer_high,disturbed,round_trips,pkts_c2s,"
      "pkts_s2c,bytes_c2s,bytes_s2c,bytes_total";
  for (const char* p : {"p50", "p95", "p99"}) out += std::format(",{0}_ms,{0}_low_ms,{0}_high_ms", p);
  out += '\n';
  for (const auto& row : run.rows) {
    const auto& s = row.latency;
    for (const auto& value : row.point) out += csv_field(value) + ',';
    out += std::format("{},{},{},{},{},{},{}", row.name, s.n + s.timeouts, s.timeouts, s.no_answer_share,
                       s.no_answer_low, s.no_answer_high, s.disturbed);
    for (const auto& value :
         {row.round_trips, row.pkts_c2s, row.pkts_s2c, row.bytes_c2s, row.bytes_s2c, row.bytes_total})
      out += ',' + csv_number(value);
    for (const double p : kSweepQuantiles) {
      const auto* q = find_quantile(row, p);
      if (q == nullptr || !q->supported) {
        out += ",,,";
        continue;
      }
      for (const auto& value : {q->ms, q->low_ms, q->high_ms})
        out += ',' + (value ? csv_number(value) : "inf");
    }
    out += '\n';
  }
  return out;
}

}  // namespace doxlab::report
