#pragma once
/// Intervals for a proportion, such as lookups without an answer among all lookups.

#include <cstddef>

#include "stats/quantile.hpp"

namespace doxlab::stats {

struct ProportionInterval {
  double low = 0, high = 1;  ///< 0 <= low <= high <= 1
};

/// Covers the true proportion with at least `confidence`, whatever it is; on average with more. Zero trials
/// give [0, 1].
/// Errors: std::invalid_argument unless successes <= trials and 0 < confidence < 1.
/// Source: Clopper and Pearson, Biometrika 26 (1934).
ProportionInterval clopper_pearson(std::size_t successes, std::size_t trials,
                                   double confidence = kDefaultConfidence);

/// Covers with about `confidence` on average over proportions, at times with a little less; narrower. The one
/// to show in a table; Clopper-Pearson is the one to decide by. Errors: as clopper_pearson.
/// Source: Wilson, JASA 22 (1927), without continuity correction.
ProportionInterval wilson(std::size_t successes, std::size_t trials, double confidence = kDefaultConfidence);

}  // namespace doxlab::stats
