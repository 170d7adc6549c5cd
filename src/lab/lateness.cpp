#include "lab/lateness.hpp"

#include <algorithm>
#include <cmath>

namespace doxlab::lab {

void Lateness::add(Duration late) {
  const auto nanoseconds = std::max<std::int64_t>(late.count(), 0);
  const auto bin = std::min(static_cast<std::size_t>(nanoseconds / 1000), kBins - 1);
  bins_[bin].fetch_add(1, std::memory_order_relaxed);
  packets_.fetch_add(1, std::memory_order_relaxed);
  if (nanoseconds > max_.load(std::memory_order_relaxed)) max_.store(nanoseconds, std::memory_order_relaxed);
}

Duration Lateness::quantile(double q) const {
  const auto total = packets();
  if (total == 0) return Duration::zero();
  const auto rank = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(total)));
  std::uint64_t seen = 0;
  for (std::size_t bin = 0; bin + 1 < kBins; ++bin) {
    seen += bins_[bin].load(std::memory_order_relaxed);
    if (seen >= rank) return std::min<Duration>(std::chrono::microseconds(bin + 1), max());
  }
  return max();
}

}  // namespace doxlab::lab
