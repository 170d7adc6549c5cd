#include "stats/difference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace doxlab::stats {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Where a value can lie that is between `low` and `high`.
Range enclose(const Bound& low, const Bound& high) {
  return {.low = low.value, .high = high.at_least ? kInfinity : high.value};
}

Range subtract(const Range& b, const Range& a) {
  return {.low = b.low - a.high, .high = b.high - a.low};
}

}  // namespace

DifferenceEstimate quantile_difference(const Samples& a, const Samples& b, double p, double confidence) {
  const double each = 1 - (1 - confidence) / 2;
  DifferenceEstimate estimate;
  estimate.samples_needed = samples_needed(p, each);
  const Bound middle_a = quantile(a, p), middle_b = quantile(b, p);
  estimate.value = subtract(enclose(middle_b, middle_b), enclose(middle_a, middle_a));
  const auto ranks_a = quantile_ranks(a.size(), p, each), ranks_b = quantile_ranks(b.size(), p, each);
  if (!ranks_a || !ranks_b) return estimate;
  estimate.interval = subtract(enclose(b.at_rank(ranks_b->low), b.at_rank(ranks_b->high)),
                               enclose(a.at_rank(ranks_a->low), a.at_rank(ranks_a->high)));
  estimate.coverage = ranks_a->coverage + ranks_b->coverage - 1;
  return estimate;
}

DifferenceEstimate paired_median_difference(std::span<const Pair> pairs, double confidence) {
  // Each pair's difference lies in [lows[i], highs[i]]. Order statistics are monotone in every sample, so the
  // low ranks of the lows and the high ranks of the highs enclose those of the unseen differences.
  std::vector<double> lows, highs;
  for (const Pair& pair : pairs) {
    if (!std::isfinite(pair.a.value) || !std::isfinite(pair.b.value)) {
      throw std::invalid_argument("a sample must be a finite number");
    }
    const Range difference = subtract(enclose(pair.b, pair.b), enclose(pair.a, pair.a));
    lows.push_back(difference.low);
    highs.push_back(difference.high);
  }
  std::ranges::sort(lows);
  std::ranges::sort(highs);

  const std::size_t middle = quantile_rank(pairs.size(), 0.5) - 1;
  DifferenceEstimate estimate;
  estimate.samples_needed = samples_needed(0.5, confidence);
  estimate.value = {.low = lows[middle], .high = highs[middle]};
  if (const auto ranks = quantile_ranks(pairs.size(), 0.5, confidence)) {
    estimate.interval = Range{.low = lows[ranks->low - 1], .high = highs[ranks->high - 1]};
    estimate.coverage = ranks->coverage;
  }
  return estimate;
}

}  // namespace doxlab::stats
