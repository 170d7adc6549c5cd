#pragma once
/// Advice that is measured: a setup's findings, and for each the same lookups with the one thing changed that might
/// end it. Before and after share their sample numbers and so their losses.

#include <stop_token>
#include <string>

#include "experiment/packets.hpp"
#include "results/advice.hpp"

namespace doxlab::experiment {

/// Lookups on the clean path for each transport, before and after each change.
inline constexpr std::size_t kCleanLookups = 9;

/// The setup's own link is that under loss; the clean path is the same without any impairment. `repetitions` lookups
/// under loss for each transport; on a link without impairments there are none. With a subject changes
/// are not measured. Stopped early, what was measured is kept and `complete` is false. `progress` is called with a total
/// that grows once the changes are known. Errors: exceptions of Rig.
results::AdviceRun run_advise(const Setup& setup, std::size_t repetitions, const std::string& command_line,
                              const Progress& progress, std::stop_token stop);

}  // namespace doxlab::experiment
