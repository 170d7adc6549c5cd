#pragma once
/// How late packets left the link, as a histogram of microseconds. One thread adds; any thread may read.

#include <array>
#include <atomic>
#include <cstdint>

#include "base/time.hpp"

namespace doxlab::lab {

class Lateness {
 public:
  void add(Duration late);

  std::uint64_t packets() const { return packets_.load(std::memory_order_relaxed); }
  Duration max() const { return Duration{max_.load(std::memory_order_relaxed)}; }
  /// The upper edge of the bin that holds the fraction `q` of the packets (0 < q <= 1), never above max();
  /// zero if there are none.
  Duration quantile(double q) const;

 private:
  /// Lateness of 100 ms and more shares the last bin.
  static constexpr std::size_t kBins = 100'001;

  std::array<std::atomic<std::uint32_t>, kBins> bins_{};
  std::atomic<std::uint64_t> packets_{0};
  std::atomic<std::int64_t> max_{0};
};

}  // namespace doxlab::lab
