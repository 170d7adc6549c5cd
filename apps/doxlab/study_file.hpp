#pragma once
/// Results that were written before, read back for `report`, `compare` and `check`.

#include <string>
#include <vector>

#include "results/study.hpp"

namespace doxlab::app {

/// Reads a study or a single run; a loss run whose samples are in a file of their own gets them from there: from the path
/// that it names, or from the folder of the run's file. Errors: std::runtime_error naming the file and what is wrong
/// with it.
results::Study read_study(const std::string& path);
/// The samples that --samples put beside the run in `run_path`. Errors: as above, with the line.
std::vector<results::LossSample> read_samples(const std::string& run_path, const std::string& samples_path);

}  // namespace doxlab::app
