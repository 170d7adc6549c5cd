#include <algorithm>
#include <format>

#include "report/html/parts.hpp"
#include "report/html/sections.hpp"
#include "report/order.hpp"

namespace doxlab::report::html {
namespace {

/// What a QUIC server had to send at once, and three times what it had received (RFC 9000 section 8.1); UDP payload.
struct Budget {
  std::string name;
  std::size_t row = 0;
  double received = 0, allowed = 0, flight = 0, shortfall = 0, round_trips = 0;
  std::string text;
};

struct BudgetData {
  std::vector<Budget> budgets;
};

/// From the packets of a lookup that met no limit: everything before the other side could react.
std::optional<Budget> first_flights(const results::Explanation& lookup, bool ipv6) {
  const double headers = ipv6 ? 48 : 28;
  double answer_arrives = 1e300, reply_arrives = 1e300;
  for (const auto& p : lookup.packets)
    if (p.direction == "s2c" && p.delivered_ms) answer_arrives = std::min(answer_arrives, *p.delivered_ms);
  for (const auto& p : lookup.packets)
    if (p.direction == "c2s" && p.sent_ms >= answer_arrives && p.delivered_ms) reply_arrives = std::min(reply_arrives, *p.delivered_ms);
  Budget out;
  for (const auto& p : lookup.packets) {
    const double payload = std::max(0.0, static_cast<double>(p.ip_bytes) - headers);
    if (p.direction == "c2s" && p.sent_ms < answer_arrives && p.delivered_ms) out.received += payload;
    if (p.direction == "s2c" && p.sent_ms < reply_arrives) out.flight += payload;
  }
  if (out.received == 0 || out.flight == 0) return std::nullopt;
  out.allowed = 3 * out.received;
  return out;
}

std::vector<Budget> budgets_of(const results::PqRun& run) {
  std::vector<Budget> out;
  for (const auto& one : run.cases) {
    if (one.hello_retry_request) continue;
    for (const auto* key : {"doh3", "doq"}) {
      const auto found = one.results.find(key);
      if (found == one.results.end() || !found->second.accounting) continue;
      const auto& accounting = *found->second.accounting;
      std::optional<Budget> budget;
      if (const auto& stall = accounting.stall)
        budget = Budget{.received = static_cast<double>(stall->received),
                        .allowed = static_cast<double>(stall->budget),
                        .flight = static_cast<double>(stall->flight),
                        .shortfall = static_cast<double>(stall->shortfall)};
      else if (accounting.median)
        budget = first_flights(*accounting.median, run.endpoints.family == "ipv6");
      if (!budget) continue;
      budget->name = std::format("{}, {}", transport_name(key), one.name);
      budget->round_trips = static_cast<double>(found->second.round_trips.value_or(0));
      budget->text = budget->shortfall > 0 ? std::format("{} bytes too many", whole(budget->shortfall))
                                           : std::format("{} bytes to spare", whole(std::max(0.0, budget->allowed - budget->flight)));
      budget->row = out.size();
      out.push_back(std::move(*budget));
    }
  }
  return out;
}

void add_budgets(Html& html, const results::PqRun& run) {
  const BudgetData data{budgets_of(run)};
  if (data.budgets.empty()) return;
  std::vector<std::vector<std::string>> rows;
  for (const auto& b : data.budgets) {
    rows.push_back({b.name, whole(b.received), whole(b.allowed), whole(b.flight), b.shortfall > 0 ? whole(b.shortfall) : "–", whole(b.round_trips)});
  }
  html.element("h3", "The amplification limit");
  html.element("p", "Before it knows that a client's address is real, a QUIC server may send three times what it has received. A classical "
                    "ClientHello fits one datagram; a post-quantum one fills two, and so doubles what the server may send.");
  add_chart(html,
            {.spec = "budget",
             .label = "For each key exchange the bytes that the server has to send at once, beside three times what it had received.",
             .caption = "Bar: what the server had to send at once. Line: three times what it had received. The part beyond the line waits for "
                        "a round trip. Bytes of UDP payload.",
             .data = to_json_text(data),
             .legend = {{"fits", "#3b76d6", {}}, {"must wait", "#d1344b", {}}, {"3 × received", "#7c8088", {1, 0}}}},
            [&] {
              add_table(html, "Server's first flight and its limit, bytes of UDP payload",
                        {{"lookup", true}, {"received"}, {"allowed"}, {"to send"}, {"short"}, {"round trips"}}, rows);
            });
}

std::string paired_text(const results::PqComparison& c) {
  if (!c.delta_ms) return "–";
  auto out = signed_ms(*c.delta_ms);
  if (c.delta_ms_low && c.delta_ms_high) out += std::format(" [{}, {}]", signed_ms(*c.delta_ms_low), signed_ms(*c.delta_ms_high));
  return out;
}

std::string number_or_dash(const std::optional<double>& ms) {
  return ms ? ms_number(*ms) : "–";
}

template <class T>
std::string or_dash(const std::optional<T>& value) {
  return value ? whole(static_cast<double>(*value)) : "–";
}

}  // namespace

void add_key_exchange(Html& html, const results::Study& study) {
  if (!study.pq || study.pq->results.empty()) return;
  const auto& run = *study.pq;
  const auto& first = run.results.begin()->second;
  open_section(html, "key-exchange", "What post-quantum key exchange costs",
               std::format("The same lookups with {} and with {}. Times are compared lookup by lookup, with exact 95% intervals.", first.pq_group,
                           first.cl_group));
  std::vector<std::vector<std::string>> rows;
  for (const auto* key : in_order(run.results)) {
    const auto& c = run.results.at(key);
    const auto pair = [](const std::string& pq, const std::string& classical) { return std::format("{} / {}", pq, classical); };
    rows.push_back({transport_name(key), c.delta ? signed_whole(static_cast<double>(*c.delta)) : "–",
                    pair(or_dash(c.pq_c2s), or_dash(c.cl_c2s)), pair(or_dash(c.pq_s2c), or_dash(c.cl_s2c)),
                    pair(or_dash(c.pq_round_trips), or_dash(c.cl_round_trips)),
                    pair(number_or_dash(c.pq_ms), number_or_dash(c.cl_ms)), paired_text(c)});
  }
  add_table(html, std::format("{} / {}", first.pq_group, first.cl_group),
            {{"transport", true}, {"more IP bytes"}, {"bytes up"}, {"bytes down"}, {"round trips"}, {"ms"}, {"difference, ms [interval]"}},
            rows);
  add_budgets(html, run);
  std::vector<std::vector<std::string>> cases;
  for (const auto& one : run.cases)
    for (const auto* key : in_order(one.results)) {
      const auto& s = one.results.at(key);
      cases.push_back({one.name, transport_name(key), or_dash(s.round_trips), ms_text(s.ms), whole(static_cast<double>(s.bytes_total)),
                       std::format("{} of {}", s.samples, s.samples + s.no_answer)});
    }
  html.open("details").element("summary", "Every key exchange, also wrong guesses of the server's group");
  add_table(html, "Every key exchange", {{"key exchange", true}, {"transport", true}, {"round trips"}, {"time"}, {"IP bytes"}, {"answered"}}, cases);
  html.close();
  if (!run.complete) add_warning(html, "this run was interrupted.");
  html.close();
}

}  // namespace doxlab::report::html
