#pragma once
/// Small records to write and read.

#include "results/sweep.hpp"

namespace doxlab::test {

inline results::LossSample loss_sample(std::string transport, std::uint64_t number,
                                       std::optional<double> ms) {
  results::LossSample out{.transport = std::move(transport),
                          .sample = number,
                          .outcome = ms ? "answered" : "timed out",
                          .ms = ms};
  if (ms)
    out.round_trips = 2;
  else
    out.reason = "no answer within 15 s";
  out.pkts_c2s = 3;
  out.bytes_c2s = 1000 + number;
  out.lost_c2s = {number % 3};
  return out;
}

/// A run with these samples of doq and dot, as run_loss leaves it.
inline results::LossRun loss_run(std::uint64_t repetitions,
                                 const std::optional<results::Shard>& shard = std::nullopt) {
  results::LossRun out;
  out.command_line = "doxlab loss";
  out.started = "2025-01-01T00:00:00Z";
  out.duration_s = 10;
  out.repetitions = repetitions;
  out.shard = shard;
  out.options = {{"loss", "2"}, {"seed", "1"}};
  out.environment.doxlab_version = "1";
  out.environment.kernel_settings = {{"tcp_congestion_control", "cubic"}};
  out.link.seed = 1;
  out.endpoints.timeout_s = 15;
  out.precision = {.packets = 100, .p50_us = 20, .p99_us = 300, .max_us = 500, .real_time_priority = true};
  for (const char* name : {"doq", "dot"}) {
    out.results[name].transport = name;
    for (std::uint64_t k = 0; k < repetitions; ++k)
      if (!shard || shard->has(k))
        out.samples.push_back(
            loss_sample(name, k, k % 7 == 6 ? std::nullopt : std::optional(80.5 + static_cast<double>(k))));
  }
  return out;
}

inline results::SweepHeader sweep_header(const std::optional<results::Shard>& shard = std::nullopt) {
  results::SweepHeader out;
  out.doxlab_version = "1";
  out.grid = {{"delay", {"5", "20", "100"}}, {"loss", {"0", "2"}}};
  out.options = {{"only", "doq,dot"}, {"seed", "1"}};
  out.repetitions = 4;
  out.shard = shard;
  out.fingerprint = results::fingerprint(out);
  return out;
}

inline results::SweepCell sweep_cell(const results::SweepHeader& header, std::uint64_t number) {
  auto run = loss_run(header.repetitions);
  results::SweepCell out;
  out.cell = number;
  out.point = results::cell_point(header.grid, number);
  out.duration_s = 2;
  out.endpoints = run.endpoints;
  out.samples = std::move(run.samples);
  for (auto& sample : out.samples)
    if (sample.ms) *sample.ms += 1000 * static_cast<double>(number);
  return out;
}

}  // namespace doxlab::test
