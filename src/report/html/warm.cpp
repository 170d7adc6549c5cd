#include <format>

#include "report/html/parts.hpp"
#include "report/html/sections.hpp"
#include "report/order.hpp"

namespace doxlab::report::html {
namespace {

/// With hyphens at which no line ends (U+2011).
std::string unbroken(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '-' ? std::string("\xE2\x80\x91") : std::string(1, c);
  return out;
}

}  // namespace

void add_warm(Html& html, const results::Study& study) {
  if (!study.warm || study.warm->cases.empty()) return;
  const auto& run = *study.warm;
  open_section(html, "warm", "What a lookup saves that does not start cold",
               "Reused: on an open connection. Resumed: with a session ticket (DNSCrypt: with the "
               "certificate known). Token: a Retry is on, and a token from before avoids it.");
  std::vector<Column> columns = {{"transport", true}};
  for (const auto& one : run.cases) columns.push_back({unbroken(one.name)});
  std::vector<std::vector<std::string>> rows;
  for (const auto* key : kTransportOrder) {
    std::vector<std::string> row = {transport_name(key)};
    bool any = false;
    for (const auto& one : run.cases) {
      const auto found = one.run.results.find(key);
      if (found == one.run.results.end()) {
        row.emplace_back("–");
        continue;
      }
      any = true;
      const auto& s = found->second;
      row.push_back(s.samples == 0 ? "no answer"
                                   : std::format("{}\n{}", s.round_trips ? std::to_string(*s.round_trips) : "?",
                                                 whole(static_cast<double>(s.bytes_total))));
    }
    if (any) rows.push_back(std::move(row));
  }
  add_table(html, "Round trips, and below them IP bytes", columns, rows);
  if (!run.complete) add_warning(html, "this run was interrupted.");
  html.close();
}

}  // namespace doxlab::report::html
