#pragma once
/// A histogram with buckets of equal ratio, for latencies that range from one round trip to a timeout, and
/// the one-line picture of it for a terminal.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "stats/samples.hpp"

namespace doxlab::stats {

class LogHistogram {
 public:
  /// Shape:  `buckets` buckets over [smallest, largest), each `(largest/smallest)^(1/buckets)` times as wide
  /// as the
  ///         one before. What lies outside is counted in the first or the last bucket.
  /// Errors: std::invalid_argument unless 0 < smallest < largest, both finite, and buckets > 0.
  LogHistogram(double smallest, double largest, std::size_t buckets);

  void add(double value);

  /// Counts every sample; censored ones go to censored(), not to a bucket.
  void add(const Samples& samples);

  std::span<const std::size_t> counts() const { return counts_; }
  std::size_t censored() const { return censored_; }

  /// The lower edge of a bucket; of `counts().size()`, the upper edge of the last.
  double edge(std::size_t bucket) const;

 private:
  double log_smallest_;
  double log_ratio_;
  std::vector<std::size_t> counts_;
  std::size_t censored_ = 0;
};

/// One character a count, from a blank for 0 to a full block for the largest (UTF-8, U+2581 to U+2588). A
/// count above 0 is never blank, so rare slow lookups stay visible.
std::string spark(std::span<const std::size_t> counts);

}  // namespace doxlab::stats
