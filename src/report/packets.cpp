#include "report/packets.hpp"

#include <format>
#include <map>

#include "report/accounting.hpp"
#include "report/order.hpp"
#include "report/server_line.hpp"
#include "report/table.hpp"
#include "report/unusual_answers.hpp"

namespace doxlab::report {
namespace {

template <class T>
std::string number(const std::optional<T>& value, int decimals) {
  return value ? std::format("{:.{}f}", static_cast<double>(*value), decimals) : "-";
}

std::string with_range(const std::optional<double>& median, const std::optional<double>& min,
                       const std::optional<double>& max) {
  if (!median) return "-";
  return std::format("{:.1f} ({:.1f}–{:.1f})", *median, min.value_or(*median), max.value_or(*median));
}

std::string trips(const results::PacketsSummary& s) {
  if (!s.round_trips) return "-";
  if (s.round_trips_min == s.round_trips_max) return std::format("{}", *s.round_trips);
  return std::format("{} ({}–{})", *s.round_trips, *s.round_trips_min, *s.round_trips_max);
}

/// The distinct reasons of lookups without an answer, each with its count.
std::string failures(const results::PacketsRun& run) {
  std::string out;
  for (const auto& [name, summary] : run.results) {
    std::map<std::string, std::size_t> reasons;
    for (const auto& sample : summary.raw)
      if (sample.outcome != "answered") ++reasons[std::format("{}: {}", sample.outcome, sample.reason)];
    for (const auto& [reason, count] : reasons)
      out += std::format("{}: {} of {} without an answer, {}\n", summary.transport, count, summary.raw.size(), reason);
  }
  return out;
}

std::string unusual_answers(const results::PacketsRun& run) {
  std::string out;
  for (const auto* name : in_order(run.results)) {
    const auto& summary = run.results.at(name);
    UnusualAnswers unusual;
    for (const auto& sample : summary.raw) unusual.add(sample);
    out += unusual.text(summary.transport, summary.samples);
  }
  return out;
}

}  // namespace

Document packets_text(const results::PacketsRun& run) {
  const auto& ends = run.endpoints;
  Document out = std::format("One cold lookup of {} {} over {}: {}\n", ends.qname, ends.qtype,
                             ends.family == "ipv6" ? "IPv6" : "IPv4", path_text(run.link, ends));
  out += server_line(ends) + client_line(ends);
  if (!ends.server_address.empty()) out += std::format("Groups {}\n\n", ends.client_groups);
  else if (ends.client_groups.empty())
    out += std::format("Chain {} bytes ({}), Retry {} on DoH3 and {} on DoQ\n\n", ends.chain_bytes, ends.chain_key, ends.doh3_retry, ends.doq_retry);
  else
    out += std::format("Chain {} bytes ({}), groups {}, Retry {} on DoH3 and {} on DoQ\n\n", ends.chain_bytes,
                       ends.chain_key, ends.client_groups, ends.doh3_retry, ends.doq_retry);
  using enum Table::Align;
  Table table({{"transport", Left},
               {"n", Right},
               {"ms (min–max)", Right},
               {"round trips", Right},
               {"computing ms", Right},
               {"packets c→s", Right},
               {"s→c", Right},
               {"IP bytes c→s", Right},
               {"s→c", Right},
               {"total", Right},
               {"flights", Right}});
  for (const auto* name : in_order(run.results)) {
    const auto& s = run.results.at(name);
    if (s.samples == 0) {
      table.add_row({s.transport, "0", s.raw.empty() ? "not measured" : "no answer", "-", "-", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    table.add_row({s.transport, std::to_string(s.samples), with_range(s.ms, s.ms_min, s.ms_max), trips(s),
                   number(s.compute_ms, 1), std::to_string(s.pkts_c2s), std::to_string(s.pkts_s2c),
                   std::to_string(s.bytes_c2s), std::to_string(s.bytes_s2c), std::to_string(s.bytes_total),
                   std::to_string(s.flights)});
  }
  out += table;
  if (ends.direct) out += "\nMedians.\n" + counting_text(run.counted_by, run.missed_packets);
  else
    out += std::format("\nMedians. The link delivered {} packets {:.0f} µs late at the median, {:.0f} µs at p99, {:.0f} µs at most{}.\n",
                       run.precision.packets, run.precision.p50_us, run.precision.p99_us, run.precision.max_us,
                       run.precision.real_time_priority ? "" : " (no real-time priority)");
  if (!run.precision.within_1_ms)
    out += "WARNING: the link was more than 1 ms late at p99; times of this run are not to be trusted (is the machine busy?)\n";
  for (const auto* name : in_order(run.results)) {
    const auto& s = run.results.at(name);
    if (s.certificate_ms)
      out += std::format("{}: {:.1f} ms of it, {} packets with {} bytes, to fetch the certificate; a client that knows it saves them.\n",
                         s.transport, *s.certificate_ms, s.certificate_pkts.value_or(0), s.certificate_bytes.value_or(0));
  }
  for (const auto* name : in_order(run.results)) {
    const auto& s = run.results.at(name);
    if (s.disturbed > 0)
      out += std::format("WARNING: {}: {} of {} lookups were disturbed by a busy machine in every attempt; do not trust their times\n",
                         s.transport, s.disturbed, s.raw.size());
  }
  const auto taken_apart = accounted(run);
  for (const auto& part : {time_text(taken_apart), bytes_text(taken_apart), findings_text(taken_apart)})
    if (!part.empty()) out += "\n" + part;
  if (!run.complete) out += "INTERRUPTED: only what was measured until then is here\n";
  if (!ends.certificate_verified) out += "WARNING: certificates were not verified, as asked\n";
  for (const auto* name : in_order(run.results)) {
    OtherTraffic beside;
    for (const auto& sample : run.results.at(name).raw)
      if (sample.other_flows) beside.add(*sample.other_flows);
    out += beside.text(run.results.at(name).transport);
  }
  return out + unusual_answers(run) + failures(run);
}

}  // namespace doxlab::report
