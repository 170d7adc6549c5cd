#pragma once
/// How much later one set of samples is than another, with an interval. Two questions are told apart:
/// - two transports, one quantile of each: quantile_difference ("DoQ's p95 minus DoT's p95");
/// - two transports under the same luck, lookup by lookup: paired_median_difference ("the median of what
///   changes when the same lookup uses DoQ instead of DoT"). It is sharper, and is not the difference of the
///   medians.
///
/// A shift estimate (Hodges-Lehmann) was decided against: it is right only where one distribution is the
/// other moved by a constant, and under loss transports differ in their tails, not by a constant.

#include <optional>
#include <span>

#include "stats/quantile.hpp"

namespace doxlab::stats {

/// A number known to lie in [low, high]; an end without knowledge is infinite.
struct Range {
  double low = 0, high = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

struct DifferenceEstimate {
  Range value;                     ///< a point (low = high) unless censoring hides it
  std::optional<Range> interval;   ///< absent: the samples are too few for the confidence
  double coverage = 0;             ///< at least this, where there is an interval
  std::size_t samples_needed = 0;  ///< of each set (pairs where paired)
};

/// Quantile `p` of `b` minus quantile `p` of `a`. The interval joins an exact interval of each at confidence
/// 1 - (1 - confidence) / 2 (Bonferroni): valid for independent and for dependent sets alike, ties and
/// censoring included; wider than needed, never too narrow.
/// Errors: std::invalid_argument for an empty set, or unless 0 < p < 1 and 0 < confidence < 1.
DifferenceEstimate quantile_difference(const Samples& a, const Samples& b, double p,
                                       double confidence = kDefaultConfidence);

/// One lookup made both ways; a way without an answer is "at least its timeout".
struct Pair {
  Bound a, b;
};

/// The median over pairs of b - a, with its exact interval (that of the sign test). A pair with one censored
/// side has a difference known from one side only, with two none at all; both ends of the interval take the
/// worse reading. Errors: std::invalid_argument for no pairs, values that are not finite, or unless 0 <
/// confidence < 1.
DifferenceEstimate paired_median_difference(std::span<const Pair> pairs,
                                            double confidence = kDefaultConfidence);

}  // namespace doxlab::stats
