#include "report/warm.hpp"

#include <format>

#include "report/order.hpp"
#include "report/table.hpp"

namespace doxlab::report {
namespace {

/// One figure of every transport and case, "-" where a case does not concern a transport.
template <class Figure>
Document matrix(const results::WarmRun& run, Figure figure) {
  std::vector<Table::Column> columns = {{"transport", Table::Align::Left}};
  for (const auto& one : run.cases) columns.push_back({one.name, Table::Align::Right});
  Table table(columns);
  for (const auto* name : in_order(run.cases.front().run.results)) {
    std::vector<std::string> row = {run.cases.front().run.results.at(name).transport};
    for (const auto& one : run.cases) {
      const auto found = one.run.results.find(name);
      if (found == one.run.results.end()) row.emplace_back("-");
      else if (found->second.samples == 0) row.emplace_back("no answer");
      else row.push_back(figure(found->second));
    }
    table.add_row(std::move(row));
  }
  return Document(table);
}

}  // namespace

Document warm_text(const results::WarmRun& run) {
  if (run.cases.empty()) return "Nothing was measured.\n";
  const auto& first = run.cases.front().run;
  Document out = std::format("What a lookup of {} {} costs by what it starts from: {:g} ms each way, loss {:g}% each way\n\n",
                                first.endpoints.qname, first.endpoints.qtype, first.link.one_way_delay_ms,
                                first.link.loss_percent);
  out += "Round trips\n" + matrix(run, [](const results::PacketsSummary& s) {
           return s.round_trips ? std::to_string(*s.round_trips) : std::string("-");
         });
  out += "\nIP bytes until the answer, both directions\n" +
         matrix(run, [](const results::PacketsSummary& s) { return std::to_string(s.bytes_total); });
  out += "\nMedians. Reused: on an open connection (DNSCrypt/TCP: with the certificate known). Resumed: a new connection with a\n"
         "ticket; DNSCrypt: with the certificate known. Token: Retry is on, and a NEW_TOKEN token avoids it.\n";
  for (const auto& one : run.cases)
    if (!one.run.precision.within_1_ms)
      out += std::format("WARNING: {}: the link was more than 1 ms late at p99 (is the machine busy?)\n", one.name);
  if (!run.complete) out += "INTERRUPTED: only what was measured until then is here\n";
  return out;
}

}  // namespace doxlab::report
