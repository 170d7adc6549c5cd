#include "study_file.hpp"

#include <algorithm>
#include <filesystem>
#include <format>
#include <sstream>
#include <tuple>

#include "files.hpp"

namespace doxlab::app {

std::vector<results::LossSample> read_samples(const std::string& run_path, const std::string& samples_path) {
  const auto beside = std::filesystem::path(run_path).parent_path() / std::filesystem::path(samples_path).filename();
  const auto path = std::filesystem::exists(samples_path) ? samples_path : beside.string();
  std::istringstream lines(read_file(path));
  std::vector<results::LossSample> out;
  for (std::string line; std::getline(lines, line);) {
    auto sample = results::parse_loss_sample(line);
    if (!sample) throw std::runtime_error(std::format("{}, line {}: {}", path, out.size() + 1, sample.error().message));
    out.push_back(std::move(*sample));
  }
  return out;
}

results::Study read_study(const std::string& path) {
  auto study = results::parse_study(read_file(path));
  if (!study) throw std::runtime_error(std::format("{}: {}", path, study.error().message));
  if (auto& loss = study->loss; loss && !loss->samples_file.empty()) {
    loss->samples = read_samples(path, loss->samples_file);
    std::ranges::stable_sort(loss->samples, {}, [](const auto& s) { return std::tie(s.transport, s.sample); });
  }
  return std::move(*study);
}

}  // namespace doxlab::app
