#pragma once
/// The first experiment: what a cold lookup costs on a clean path, for each transport, in round trips,
/// milliseconds, packets and bytes.

#include <functional>
#include <stop_token>
#include <string>

#include "experiment/rig.hpp"
#include "results/run.hpp"

namespace doxlab::experiment {

/// Called after each lookup with how many are done and how many there are.
using Progress = std::function<void(std::size_t done, std::size_t of)>;

/// Makes `repetitions` cold lookups for each transport of the setup. Stopped early, the run has what was
/// measured and `complete` false. `on_packets` (may be empty) gets each sample as it arrives. Errors: exceptions
/// of Rig.
results::PacketsRun run_packets(const Setup& setup, std::size_t repetitions, const std::string& command_line,
                                const Progress& progress, std::stop_token stop,
                                const SampleHandler& on_packets = {});

}  // namespace doxlab::experiment
