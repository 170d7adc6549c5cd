#pragma once
/// Quantiles and their exact intervals, from order statistics alone: nothing is assumed about the
/// distribution, so multimodal latencies (a lookup either meets a loss or not), ties and censored samples are
/// all allowed. The one assumption is that samples are independent and from one distribution.
///
/// Why it holds: the number B of samples at or below the true quantile is binomial, so the order statistics
/// X(low) and X(high) enclose it with probability P(low <= B <= high - 1). With ties the closed interval
/// covers at least that often. Censoring replaces each value v by min(v, limit), which keeps every rank, so
/// an end of the interval that falls on a censored sample reads "at least the limit": the end is not known.

#include <cstddef>
#include <optional>

#include "stats/samples.hpp"

namespace doxlab::stats {

inline constexpr double kDefaultConfidence = 0.95;

/// The rank of quantile `p` among `n` samples: the smallest k with k/n >= p.
/// Source: RFC 2330 §11.3 (inverse of the empirical distribution function, no interpolation). For p = 0.5 and
///         an even n that is the lower of the two middle samples.
/// Errors: std::invalid_argument unless n > 0 and 0 < p < 1.
std::size_t quantile_rank(std::size_t n, double p);

/// The sample at that rank: a value, or "at least the limit". Errors: as quantile_rank.
Bound quantile(const Samples& samples, double p);

/// Two ranks that enclose quantile `p`, and the probability with which they do.
struct RankInterval {
  std::size_t low = 0, high = 0;  ///< 1-based, low < high
  double coverage = 0;    ///< exact for a continuous distribution, else a lower bound; >= the confidence
  double miss_below = 0;  ///< probability that the quantile lies below X(low)
  double miss_above = 0;  ///< probability that the quantile lies above X(high)
};

/// The pair of ranks with the fewest samples between them that reaches `confidence`; among equals the one
/// whose two miss probabilities are most alike. It depends on n, p and confidence only, never on the data.
/// Returns nullopt where n supports no such interval.
/// Errors: std::invalid_argument unless 0 < p < 1 and 0 < confidence < 1.
std::optional<RankInterval> quantile_ranks(std::size_t n, double p, double confidence = kDefaultConfidence);

/// The smallest n for which quantile_ranks finds an interval: the smallest with 1 - p^n - (1-p)^n >=
/// confidence. For the 99th percentile at 95 % it is 299. Errors: as quantile_ranks.
std::size_t samples_needed(double p, double confidence = kDefaultConfidence);

struct Interval {
  Bound low, high;
  double coverage = 0;
};

/// A quantile as it should be printed: with its n, and with an interval or the reason why there is none.
struct QuantileEstimate {
  double p = 0;
  std::size_t n = 0;
  std::size_t censored = 0;
  std::optional<Bound> value;        ///< absent only for n = 0
  std::optional<Interval> interval;  ///< absent: n does not support the confidence
  std::size_t samples_needed = 0;    ///< from this n on there is an interval
};

/// Errors: std::invalid_argument unless 0 < p < 1 and 0 < confidence < 1.
QuantileEstimate estimate_quantile(const Samples& samples, double p, double confidence = kDefaultConfidence);

inline QuantileEstimate estimate_median(const Samples& samples, double confidence = kDefaultConfidence) {
  return estimate_quantile(samples, 0.5, confidence);
}

}  // namespace doxlab::stats
