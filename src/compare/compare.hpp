#pragma once
/// Two runs against each other: two servers, two builds, before and after a change.

#include "results/comparison.hpp"
#include "results/study.hpp"

namespace doxlab::compare {

/// Differences of times that are smaller are the machine's: its medians move by as much from run to run.
inline constexpr double kNoiseMs = 2;

/// Compares every experiment that both have; pq and warm have their comparisons inside and are passed over. A
/// difference of quantiles has an interval by stats::quantile_difference, one of shares joins two Clopper-Pearson
/// intervals in the same way; neither assumes a distribution. A time is called lower or higher only where its interval lies
/// beyond `noise_ms`. File names are the caller's to fill in.
results::Comparison compare(const results::Study& a, const results::Study& b, double noise_ms = kNoiseMs);

}  // namespace doxlab::compare
