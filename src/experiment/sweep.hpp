#pragma once
/// The loss experiment over a grid of options, one cell after the other, each on a lab of its own. The sample
/// numbers are the same in every cell, so all cells meet the same draws where their loss is the same.

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "experiment/sampler.hpp"
#include "experiment/sweep_file.hpp"
#include "results/sweep.hpp"

namespace doxlab::experiment {

/// Gathers the rows of a sweep from its cells, which it does not keep.
class SweepSummary {
 public:
  explicit SweepSummary(results::SweepHeader header);
  void add(const results::SweepCell& cell);
  /// Rows in order, and how much of the sweep is there.
  results::SweepRun run() const;

 private:
  results::SweepRun run_;
};

struct SweepProgress {
  std::uint64_t cell = 0;
  std::vector<std::string> point;
  std::uint64_t cells_finished = 0, cells = 0;  ///< of the shard, those of earlier runs included
  SamplerStatus lookups;                        ///< of the cell under way
  std::optional<double> seconds_left;           ///< empty until there is something to go by
};

struct SweepHandlers {
  std::function<void(const SweepProgress&)> on_progress;   ///< after each lookup; may be empty
  std::function<void(const results::SweepCell&)> on_cell;  ///< finished, and in the file if there is one
};

/// Runs the cells of the shard that are not in `finished`, and appends each to `file` (null: nowhere). False
/// if stopped early: the cell under way is then dropped. `setup_of` gives the setup of a cell from its
/// values. Errors: exceptions of Rig and of SweepFile::append.
bool run_sweep(const results::SweepHeader& header, const std::set<std::uint64_t>& finished,
               const std::function<Setup(const std::vector<std::string>& point)>& setup_of, SweepFile* file,
               const SweepHandlers& handlers, std::stop_token stop);

}  // namespace doxlab::experiment
