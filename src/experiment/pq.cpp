#include "experiment/pq.hpp"

#include <algorithm>
#include <cmath>
#include <format>
#include <stdexcept>

#include "stats/difference.hpp"

namespace doxlab::experiment {
namespace {

using results::KeyExchangeCase;
using results::PacketsSummary;

std::vector<KeyExchangeCase> plan(const std::vector<std::string>& groups) {
  std::vector<KeyExchangeCase> out;
  for (const auto& group : groups)
    out.push_back({.name = group, .client_groups = "*" + group, .server_groups = group,
                   .post_quantum = is_post_quantum(group)});
  const auto hybrid = std::ranges::find_if(groups, is_post_quantum);
  const auto classical = std::ranges::find_if_not(groups, is_post_quantum);
  if (hybrid == groups.end() || classical == groups.end()) return out;
  for (const auto& [guess, wanted] : {std::pair{*classical, *hybrid}, std::pair{*hybrid, *classical}})
    out.push_back({.name = std::format("{}, server wants {}", guess, wanted),
                   .client_groups = std::format("*{}:{}", guess, wanted),
                   .server_groups = wanted,
                   .post_quantum = is_post_quantum(wanted),
                   .hello_retry_request = true});
  return out;
}

stats::Bound as_bound(const results::PacketsSample& sample, double timeout_ms) {
  return sample.ms ? stats::Bound{*sample.ms, false} : stats::Bound{timeout_ms, true};
}

results::PqComparison compare(const KeyExchangeCase& pq, const KeyExchangeCase& classical, const std::string& transport,
                              double timeout_ms) {
  const auto& a = classical.results.at(transport);
  const auto& b = pq.results.at(transport);
  results::PqComparison out;
  out.transport = b.transport;
  out.pq_group = pq.name;
  out.cl_group = classical.name;
  if (b.samples > 0) {
    out.pq_c2s = b.bytes_c2s;
    out.pq_s2c = b.bytes_s2c;
    out.pq_ms = b.ms;
    out.pq_round_trips = b.round_trips;
  }
  if (a.samples > 0) {
    out.cl_c2s = a.bytes_c2s;
    out.cl_s2c = a.bytes_s2c;
    out.cl_ms = a.ms;
    out.cl_round_trips = a.round_trips;
  }
  if (a.samples > 0 && b.samples > 0)
    out.delta = static_cast<std::int64_t>(b.bytes_total) - static_cast<std::int64_t>(a.bytes_total);
  std::vector<stats::Pair> pairs;
  for (const auto& sample : a.raw) {
    const auto twin = std::ranges::find(b.raw, sample.sample, &results::PacketsSample::sample);
    if (twin != b.raw.end()) pairs.push_back({as_bound(sample, timeout_ms), as_bound(*twin, timeout_ms)});
  }
  out.pairs = pairs.size();
  if (pairs.empty()) return out;
  const auto known = [](double ms) { return std::isfinite(ms) ? std::optional(ms) : std::nullopt; };
  const auto difference = stats::paired_median_difference(pairs);
  if (difference.value.low == difference.value.high) out.delta_ms = known(difference.value.low);
  if (difference.interval) {
    out.delta_ms_low = known(difference.interval->low);
    out.delta_ms_high = known(difference.interval->high);
  }
  return out;
}

}  // namespace

bool is_post_quantum(std::string_view group) { return group.contains("MLKEM"); }

results::PqRun run_pq(Setup setup, const std::vector<std::string>& groups, std::size_t repetitions,
                      const std::string& command_line, const Progress& progress, std::stop_token stop) {
  std::erase_if(setup.transports, [](Transport t) { return !has_tls(t); });
  if (setup.transports.empty()) throw std::invalid_argument("none of the transports asked for has a TLS key exchange");
  if (groups.empty()) throw std::invalid_argument("no groups to compare");

  results::PqRun out;
  out.cases = plan(groups);
  out.repetitions = repetitions;
  const auto each = repetitions * setup.transports.size();
  for (std::size_t i = 0; i < out.cases.size(); ++i) {
    auto& one = out.cases[i];
    setup.client_groups = one.client_groups;
    setup.server_groups = one.server_groups;
    const auto count = [&](std::size_t done, std::size_t) {
      if (progress) progress(i * each + done, out.cases.size() * each);
    };
    auto run = run_packets(setup, repetitions, command_line, count, stop);
    if (i == 0) {
      out.command_line = run.command_line;
      out.started = run.started;
      out.environment = run.environment;
      out.link = run.link;
      out.endpoints = run.endpoints;
      out.endpoints.client_groups.clear();  // they are those of the cases
      out.endpoints.server_groups.clear();
    }
    out.duration_s += run.duration_s;
    one.precision = run.precision;
    one.results = std::move(run.results);
    out.complete = run.complete;
    if (!run.complete) {
      out.cases.resize(i + 1);
      break;
    }
  }
  const auto alone = [](bool post_quantum) {
    return [post_quantum](const KeyExchangeCase& c) { return c.post_quantum == post_quantum && !c.hello_retry_request; };
  };
  const auto pq = std::ranges::find_if(out.cases, alone(true));
  const auto classical = std::ranges::find_if(out.cases, alone(false));
  if (pq != out.cases.end() && classical != out.cases.end())
    for (const auto& [name, summary] : pq->results)
      out.results[name] = compare(*pq, *classical, name, to_ms(setup.timeout));
  return out;
}

}  // namespace doxlab::experiment
