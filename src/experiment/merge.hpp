#pragma once
/// Joins the parts of a split run. As every draw depends on the number of its sample alone, the whole is what
/// an unsplit run would have been, but for times. What may not be joined is refused: another version of
/// doxlab, other settings, another seed, samples or cells that two parts have.

#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "results/loss.hpp"
#include "results/sweep.hpp"

namespace doxlab::experiment {

struct NamedLossRun {
  std::string name;  ///< for messages: the path of its file
  results::LossRun run;
};

struct MergedLoss {
  results::LossRun run;
  std::string missing;  ///< sentences, each with a line feed; empty if the run is whole
};

/// Joins parts of one run, in any order; results of earlier merges are parts too. Quantiles are made anew
/// from all samples. Errors: a sentence that names the two parts and what differs, or the sample that both
/// have.
Result<MergedLoss> merge_loss(std::vector<NamedLossRun> parts);

struct MergedSweep {
  results::SweepRun run;
  std::string missing;
};

/// Joins files of one sweep into `output`, cells in order; it appears whole or not at all.
/// Errors: as merge_loss and read_sweep_file; exceptions where `output` cannot be written.
Result<MergedSweep> merge_sweeps(const std::vector<std::string>& paths, const std::string& output);

}  // namespace doxlab::experiment
