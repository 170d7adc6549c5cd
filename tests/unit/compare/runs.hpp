#pragma once
/// Runs as the experiments would have written them.

#include <span>
#include <string>

#include "results/study.hpp"

namespace doxlab::compare {

inline results::PacketsRun packets_run(const std::string& transport, std::span<const double> times, std::uint64_t round_trips,
                                       std::uint64_t bytes_s2c) {
  results::PacketsRun run;
  run.link.one_way_delay_ms = 20;
  run.link.seed = 1;
  run.endpoints.qname = "example.com";
  run.endpoints.timeout_s = 15;
  auto& summary = run.results[transport];
  summary.transport = transport;
  for (const auto ms : times)
    summary.raw.push_back({.sample = summary.raw.size(), .outcome = "answered", .ms = ms, .round_trips = round_trips,
                           .bytes_c2s = 1000, .bytes_s2c = bytes_s2c});
  summary.samples = times.size();
  return run;
}

}  // namespace doxlab::compare
