#include "report/pq.hpp"

#include <format>

#include "report/order.hpp"
#include "report/server_line.hpp"
#include "report/table.hpp"

namespace doxlab::report {
namespace {

std::string count(const std::optional<std::uint64_t>& value) { return value ? std::to_string(*value) : "-"; }
std::string ms(const std::optional<double>& value) { return value ? std::format("{:.1f}", *value) : "-"; }
std::string signed_bytes(const std::optional<std::int64_t>& value) { return value ? std::format("{:+}", *value) : "-"; }

std::string paired(const results::PqComparison& c) {
  if (!c.delta_ms) return "-";
  if (!c.delta_ms_low || !c.delta_ms_high) return std::format("{:+.1f}", *c.delta_ms);
  return std::format("{:+.1f} [{:+.1f}, {:+.1f}]", *c.delta_ms, *c.delta_ms_low, *c.delta_ms_high);
}

Document comparison(const results::PqRun& run) {
  using enum Table::Align;
  Table table({{"transport", Left}, {"bytes c→s", Right}, {"was", Right}, {"s→c", Right}, {"was", Right}, {"delta", Right},
               {"round trips", Right}, {"was", Right}, {"ms", Right}, {"was", Right}, {"delta ms, paired", Right}});
  for (const auto* name : in_order(run.results)) {
    const auto& c = run.results.at(name);
    table.add_row({c.transport, count(c.pq_c2s), count(c.cl_c2s), count(c.pq_s2c), count(c.cl_s2c), signed_bytes(c.delta),
                   count(c.pq_round_trips), count(c.cl_round_trips), ms(c.pq_ms), ms(c.cl_ms), paired(c)});
  }
  const auto& first = run.results.begin()->second;
  return std::format("{} against {} (\"was\")\n\n", first.pq_group, first.cl_group) + Document(table) + "\n";
}

Document all_cases(const results::PqRun& run) {
  using enum Table::Align;
  Table table({{"key exchange", Left}, {"transport", Left}, {"answered", Right}, {"ms", Right}, {"round trips", Right},
               {"bytes c→s", Right}, {"s→c", Right}, {"total", Right}, {"flights", Right}});
  for (const auto& one : run.cases) {
    for (const auto* name : in_order(one.results)) {
      const auto& s = one.results.at(name);
      const auto n = std::format("{} of {}", s.samples, s.samples + s.no_answer);
      if (s.samples == 0) {
        const auto reason = s.raw.empty() ? std::string("not measured") : s.raw.front().reason;
        table.add_row({one.name, s.transport, n, reason, "-", "-", "-", "-", "-"});
        continue;
      }
      table.add_row({one.name, s.transport, n, ms(s.ms), count(s.round_trips), std::to_string(s.bytes_c2s),
                     std::to_string(s.bytes_s2c), std::to_string(s.bytes_total), std::to_string(s.flights)});
    }
  }
  return Document(table);
}

}  // namespace

Document pq_text(const results::PqRun& run) {
  Document out = std::format(
      "Key exchange of one cold lookup of {} {}: {:g} ms each way, loss {:g}% each way, chain {} bytes, {} lookups each\n\n",
      run.endpoints.qname, run.endpoints.qtype, run.link.one_way_delay_ms, run.link.loss_percent, run.endpoints.chain_bytes,
      run.repetitions);
  if (const auto server = server_line(run.endpoints); !server.empty()) out += server + "\n";
  if (!run.results.empty()) out += comparison(run);
  out += all_cases(run);
  out += "\nMedians; IP bytes until the answer. \"A, server wants B\": the client sent a key share for A and the server asked for\n"
         "B with a HelloRetryRequest.\n";
  for (const auto& one : run.cases)
    if (!one.precision.within_1_ms)
      out += std::format("WARNING: {}: the link was more than 1 ms late at p99; times are not to be trusted\n", one.name);
  if (!run.complete) out += "INTERRUPTED: only what was measured until then is here\n";
  return out;
}

}  // namespace doxlab::report
