#include "stats/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace doxlab::stats {

LogHistogram::LogHistogram(double smallest, double largest, std::size_t buckets) {
  if (!(smallest > 0 && smallest < largest && std::isfinite(largest)) || buckets == 0) {
    throw std::invalid_argument("a logarithmic histogram needs 0 < smallest < largest and a bucket");
  }
  log_smallest_ = std::log(smallest);
  log_ratio_ = (std::log(largest) - log_smallest_) / static_cast<double>(buckets);
  counts_.resize(buckets);
}

void LogHistogram::add(double value) {
  std::size_t bucket = 0;
  if (value > 0) {
    const double steps = (std::log(value) - log_smallest_) / log_ratio_;
    const double last = static_cast<double>(counts_.size() - 1);
    bucket = static_cast<std::size_t>(std::clamp(std::floor(steps), 0.0, last));
  }
  ++counts_[bucket];
}

void LogHistogram::add(const Samples& samples) {
  for (const double value : samples.answered()) add(value);
  censored_ += samples.censored();
}

double LogHistogram::edge(std::size_t bucket) const {
  return std::exp(log_smallest_ + log_ratio_ * static_cast<double>(bucket));
}

std::string spark(std::span<const std::size_t> counts) {
  static constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t largest = counts.empty() ? 0 : std::ranges::max(counts);
  std::string line;
  for (const std::size_t count : counts) {
    const double share = largest == 0 ? 0 : static_cast<double>(count) / static_cast<double>(largest);
    line += kBlocks[static_cast<std::size_t>(std::ceil(share * 8))];
  }
  return line;
}

}  // namespace doxlab::stats
