#pragma once
/// The second experiment: the latency distribution of cold lookups under loss, with intervals, and the share
/// of lookups without an answer. Every transport meets the same draws.

#include <functional>
#include <stop_token>
#include <string>

#include "experiment/sampler.hpp"
#include "experiment/setup.hpp"
#include "results/loss.hpp"

namespace doxlab::experiment {

struct LossHandlers {
  std::function<void(const results::LossSample&)> on_sample;  ///< as each arrives; may be empty
  std::function<void(const SamplerStatus&)> on_status;        ///< may be empty
  SampleHandler on_packets{};                                 ///< as each arrives; may be empty
};

/// Makes `repetitions` cold lookups for each transport of the setup, with the sample numbers from 0 on; given a
/// shard, those of them that are its part. The draws depend on the sample number, not on the shard.
/// Stopped early, `complete` is false and the run has the sample numbers before the first that some transport has not
/// finished: what is in flight then is the slow and the lost, and the rest alone would look too good.
/// Errors: exceptions of Rig.
results::LossRun run_loss(const Setup& setup, std::size_t repetitions, const std::optional<results::Shard>& shard,
                          const SamplerOptions& sampling, const std::string& command_line, const LossHandlers& handlers,
                          std::stop_token stop);

/// Summarises samples of one transport: quantiles over all of them, those without an answer counted as longer
/// than `timeout_ms`; disturbed ones are counted and left out.
results::LossSummary summarize_loss(std::span<const results::LossSample> samples, double timeout_ms);

}  // namespace doxlab::experiment
