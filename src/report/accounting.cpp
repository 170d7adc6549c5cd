#include "report/accounting.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <format>
#include <iterator>
#include <span>
#include <vector>

#include "report/order.hpp"
#include "report/table.hpp"

namespace doxlab::report {
namespace {

constexpr std::size_t kWidest = 110, kMostNamed = 10;

/// What a column sums up: causes or owners. Under loss a table of time can be too wide; then columns of the same
/// `coarse` title are one.
struct Group {
  std::string_view member, title, coarse;
};

constexpr Group kCauses[] = {{"tcp_handshake", "handshake", "handshake"},
                             {"tls_handshake", "handshake", "handshake"},
                             {"quic_handshake", "handshake", "handshake"},
                             {"version_negotiation", "handshake", "handshake"},
                             {"hello_retry_request", "HelloRetry", "handshake"},
                             {"certificate_fetch", "cert fetch", "handshake"},
                             {"retry", "Retry", "Retry"},
                             {"amplification_limit", "3x limit", "3x limit"},
                             {"congestion_window", "window", "other trips"},
                             {"truncation", "truncated", "other trips"},
                             {"query", "query", "query"},
                             {"loss_recovery", "recovery", "other trips"},
                             {"syn_retransmission", "SYN timer", "SYN timer"},
                             {"syn_ack_retransmission", "SYN timer", "SYN timer"},
                             {"rto", "RTO, TLP", "RTO, PTO"},
                             {"tlp", "RTO, TLP", "RTO, PTO"},
                             {"pto_initial", "PTO", "RTO, PTO"},
                             {"pto_handshake", "PTO", "RTO, PTO"},
                             {"pto_application", "PTO", "RTO, PTO"},
                             {"loss_delay", "other timers", "other timers"},
                             {"delayed_ack", "other timers", "other timers"},
                             {"query_retransmission", "other timers", "other timers"},
                             {"queue", "queue", "queue"},
                             {"client_computing", "computing", "computing"},
                             {"server_computing", "computing", "computing"},
                             {"client_think_time", "think time", "think time"},
                             {"server_think_time", "think time", "think time"},
                             {"unexplained", "unexplained", "unexplained"}};

constexpr Group kOwners[] = {{"ip_header", "headers", ""},    {"udp_header", "headers", ""},
                             {"tcp_header", "headers", ""},   {"quic_header", "QUIC", ""},
                             {"quic_tag", "QUIC", ""},        {"quic_ack", "QUIC", ""},
                             {"quic_control", "QUIC", ""},    {"quic_close", "QUIC", ""},
                             {"quic_token", "QUIC", ""},      {"quic_padding", "padding", ""},
                             {"dns_padding", "padding", ""},  {"tls_record", "records", ""},
                             {"tls_alert", "records", ""},    {"client_hello", "hellos", ""},
                             {"server_hello", "hellos", ""},  {"key_share", "key shares", ""},
                             {"certificate", "cert.", ""},    {"signature", "cert.", ""},
                             {"handshake", "other TLS", ""},  {"ticket", "other TLS", ""},
                             {"http_framing", "HTTP", ""},    {"dns_query", "DNS", ""},
                             {"dns_answer", "DNS", ""},       {"dnscrypt", "DNSCrypt", ""}};

constexpr std::pair<std::string_view, std::string_view> kFindings[] = {
    {"retry_round_trip", "a Retry cost a round trip"},
    {"amplification_stall", "the server stood at three times what it had received"},
    {"certificate_beyond_window", "the certificate did not fit in the first congestion window"},
    {"client_hello_half_lost", "a ClientHello of several datagrams lost some of them"},
    {"lost_crypto_not_resent", "lost handshake data was never sent again"},
    {"spurious_retransmission", "what had been acknowledged was sent again"},
    {"initial_not_padded", "Initial packets of less than 1200 bytes"},
    {"above_path_mtu", "packets larger than the MTU of the path"},
    {"early_data_not_used", "resumed without early data"},
    {"early_data_rejected", "the server rejected early data"},
    {"no_session_ticket", "the server gave no session ticket"},
    {"closed_before_answer", "the server ended the connection before the answer"},
    {"server_think_time", "the server acknowledged what it was sent and took its time"}};

/// "DoH3/17" as `explain --sample` takes it.
std::string sample_name(const std::string& transport, std::uint64_t sample) { return std::format("{}/{}", transport, sample); }

using Values = std::map<std::string, double>;  // by cause or owner

/// The table with a row of `values` for each transport, columns without any left out; `last` are the titles and values
/// behind.
Table grouped_table(const std::map<std::string, Accounted>& all, std::span<const Group> groups,
                          std::string_view Group::*title, int decimals, auto values_of, auto last_of) {
  std::vector<std::string_view> titles;
  std::map<std::string, std::map<std::string_view, double>> rows;
  const auto title_of = [&](const std::string& name) -> std::string_view {
    const auto found = std::ranges::find(groups, name, &Group::member);
    return found == groups.end() ? "not read" : (*found).*title;
  };
  for (const auto& [name, one] : all)
    for (const auto& [member, value] : values_of(one.accounting)) rows[name][title_of(member)] += value;
  const auto occurs = [&](std::string_view wanted) {
    return std::ranges::any_of(rows, [&](const auto& row) {
      const auto cell = row.second.find(wanted);
      return cell != row.second.end() && cell->second > 0;
    });
  };
  for (const auto& group : groups)
    if (std::ranges::find(titles, group.*title) == titles.end() && occurs(group.*title)) titles.push_back(group.*title);
  if (occurs("not read")) titles.emplace_back("not read");

  using enum Table::Align;
  std::vector<Table::Column> columns{{"transport", Left}};
  for (const auto wanted : titles) columns.push_back({std::string(wanted), Right});
  for (const auto& [name, value] : last_of(results::Accounting{})) columns.push_back({name, Right});
  Table table(columns);
  for (const auto* name : in_order(all)) {
    std::vector<std::string> cells{std::string(all.at(name).transport)};
    auto& row = rows[name];
    for (const auto wanted : titles)
      cells.push_back(row.contains(wanted) && row[wanted] > 0 ? std::format("{:.{}f}", row[wanted], decimals) : "");
    for (const auto& [title_there, value] : last_of(all.at(name).accounting)) cells.push_back(value);
    table.add_row(std::move(cells));
  }
  return table;
}

template <class Run>
std::map<std::string, Accounted> accounted_of(const Run& run) {
  std::map<std::string, Accounted> out;
  for (const auto& [name, summary] : run.results)
    if (summary.accounting && summary.accounting->lookups > 0)
      out.emplace(name, Accounted{summary.transport, *summary.accounting});
  return out;
}

}  // namespace

std::map<std::string, Accounted> accounted(const results::PacketsRun& run) { return accounted_of(run); }
std::map<std::string, Accounted> accounted(const results::LossRun& run) { return accounted_of(run); }

Document time_text(const std::map<std::string, Accounted>& all) {
  if (std::ranges::none_of(all, [](const auto& one) { return one.second.accounting.answered > 0; })) return {};
  const auto values = [](const results::Accounting& accounting) {
    Values out;
    for (const auto& [cause, total] : accounting.causes) out[cause] = total.mean_ms;
    return out;
  };
  const auto last = [](const results::Accounting& accounting) {
    double sum = 0;
    for (const auto& [cause, total] : accounting.causes) sum += total.mean_ms;
    return std::vector<std::pair<std::string, std::string>>{{"sum", std::format("{:.1f}", sum)}};
  };
  auto table = grouped_table(all, kCauses, &Group::title, 1, values, last);
  if (table.width() > kWidest) table = grouped_table(all, kCauses, &Group::coarse, 1, values, last);
  return "Where the time goes: mean ms of the answered lookups\n" + Document(table);
}

Document bytes_text(const std::map<std::string, Accounted>& all) {
  if (all.empty()) return {};
  const auto values = [](const results::Accounting& accounting) {
    Values out;
    for (const auto& [owner, mean] : accounting.ledger) out[owner] = mean.c2s + mean.s2c;
    return out;
  };
  const auto last = [](const results::Accounting& accounting) {
    double sum = 0;
    for (const auto& [owner, mean] : accounting.ledger) sum += mean.c2s + mean.s2c;
    return std::vector<std::pair<std::string, std::string>>{{"total", std::format("{:.0f}", sum)}};
  };
  return "Where the bytes go: mean IP bytes until the answer, both directions\n" +
         Document(grouped_table(all, kOwners, &Group::title, 0, values, last));
}

Document findings_text(const std::map<std::string, Accounted>& all) {
  std::string out;
  for (const auto* name : in_order(all)) {
    const auto& [transport, accounting] = all.at(name);
    for (const auto& [finding, total] : accounting.findings)
      out += std::format("* {}: {} in {} of {} lookups (explain --sample {})\n", transport, finding_words(finding),
                         total.lookups, accounting.lookups, sample_name(name, total.first_sample));
  }
  for (const auto* name : in_order(all)) {
    const auto& [transport, accounting] = all.at(name);
    const auto& unexplained = accounting.unexplained;
    for (std::size_t i = 0; i < unexplained.size() && i < kMostNamed; ++i)
      out += std::format("* {}: {:.1f} ms without a known cause: explain --sample {}\n", transport, unexplained[i].ms,
                         sample_name(name, unexplained[i].sample));
    if (unexplained.size() > kMostNamed)
      out += std::format("* {}: {} more lookups with unexplained time (JSON: accounting.unexplained)\n", transport,
                         unexplained.size() - kMostNamed);
  }
  return out;
}

std::string finding_words(std::string_view finding) {
  const auto found = std::ranges::find(kFindings, finding, &std::pair<std::string_view, std::string_view>::first);
  return std::string(found == std::end(kFindings) ? finding : found->second);
}

}  // namespace doxlab::report
