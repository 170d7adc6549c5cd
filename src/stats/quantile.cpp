#include "stats/quantile.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace doxlab::stats {
namespace {

void require_inside(double x, const char* what) {
  if (!(x > 0 && x < 1)) throw std::invalid_argument(what);
}

void require_levels(double p, double confidence) {
  require_inside(p, "a quantile must lie between 0 and 1");
  require_inside(confidence, "a confidence must lie between 0 and 1");
}

/// The distribution function of Binomial(n, p), computed only where it is neither 0 nor 1 for our purposes:
/// 12 standard deviations around the mean (plus 40 for small means) leave out less than 1e-12.
class BinomialCdf {
 public:
  BinomialCdf(std::size_t n, double p) : n_(n) {
    const double mean = static_cast<double>(n) * p;
    const double reach = 12 * std::sqrt(mean * (1 - p)) + 40;
    first_ = mean > reach ? static_cast<std::size_t>(mean - reach) : 0;
    const std::size_t last = std::min(n, static_cast<std::size_t>(mean + reach) + 1);
    const boost::math::binomial_distribution<double> distribution(static_cast<double>(n), p);
    for (std::size_t k = first_; k <= last; ++k) {
      at_most_.push_back(boost::math::cdf(distribution, static_cast<double>(k)));
      more_than_.push_back(boost::math::cdf(boost::math::complement(distribution, static_cast<double>(k))));
    }
  }

  std::size_t first() const { return first_; }

  double at_most(std::size_t k) const {
    if (k < first_) return 0;
    return k - first_ < at_most_.size() ? at_most_[k - first_] : 1;
  }

  /// P(B > k), computed apart so that a small tail keeps its digits.
  double more_than(std::size_t k) const {
    if (k >= n_) return 0;
    if (k < first_) return 1;
    return k - first_ < more_than_.size() ? more_than_[k - first_] : 0;
  }

 private:
  std::size_t n_;
  std::size_t first_ = 0;
  std::vector<double> at_most_, more_than_;
};

}  // namespace

std::size_t quantile_rank(std::size_t n, double p) {
  require_inside(p, "a quantile must lie between 0 and 1");
  if (n == 0) throw std::invalid_argument("an empty set has no quantiles");
  // 0.95 * 20 must be 19 and 0.07 * 100 must be 7, whatever the last bit of the product says.
  const double exact = static_cast<double>(n) * p;
  const double rounding = 4 * std::numeric_limits<double>::epsilon() * exact;
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(exact - rounding)), 1, n);
}

Bound quantile(const Samples& samples, double p) {
  return samples.at_rank(quantile_rank(samples.size(), p));
}

std::optional<RankInterval> quantile_ranks(std::size_t n, double p, double confidence) {
  require_levels(p, confidence);
  if (n < 2) return std::nullopt;
  const BinomialCdf cdf(n, p);
  const double allowed_miss = 1 - confidence;
  const double slack = 1e-12;  // an n that reaches the confidence exactly must not fail on the last bit

  // As `low` falls, the smallest sufficient `high` falls or stays: one pass over both finds the best pair.
  std::optional<RankInterval> best;
  std::size_t low = n - 1;
  while (low > 1 && cdf.at_most(low - 1) > allowed_miss + slack) --low;
  std::size_t high = n;
  for (;; --low) {
    const double below = cdf.at_most(low - 1);
    while (high > low + 1 && below + cdf.more_than(high - 2) <= allowed_miss + slack) --high;
    const double above = cdf.more_than(high - 1);
    if (below + above <= allowed_miss + slack) {
      const RankInterval found{
          .low = low, .high = high, .coverage = 1 - below - above, .miss_below = below, .miss_above = above};
      const auto width = [](const RankInterval& r) { return r.high - r.low; };
      const auto imbalance = [](const RankInterval& r) { return std::abs(r.miss_below - r.miss_above); };
      if (!best || width(found) < width(*best) ||
          (width(found) == width(*best) && imbalance(found) < imbalance(*best))) {
        best = found;
      }
    }
    if (low <= 1 || low <= cdf.first()) return best;
  }
}

std::size_t samples_needed(double p, double confidence) {
  require_levels(p, confidence);
  const auto miss = [p](double n) { return std::pow(p, n) + std::pow(1 - p, n); };
  const double allowed = 1 - confidence + 1e-12;
  // The larger of the two terms decides alone within a factor of two; the rest is a short search.
  const double larger = std::max(p, 1 - p);
  double n = std::max(2.0, std::floor(std::log(1 - confidence) / std::log(larger)) - 1);
  while (miss(n) > allowed) ++n;
  return static_cast<std::size_t>(n);
}

QuantileEstimate estimate_quantile(const Samples& samples, double p, double confidence) {
  QuantileEstimate estimate{.p = p,
                            .n = samples.size(),
                            .censored = samples.censored(),
                            .value = {},
                            .interval = {},
                            .samples_needed = samples_needed(p, confidence)};
  if (samples.size() == 0) return estimate;
  estimate.value = quantile(samples, p);
  if (const auto ranks = quantile_ranks(samples.size(), p, confidence)) {
    estimate.interval = Interval{.low = samples.at_rank(ranks->low),
                                 .high = samples.at_rank(ranks->high),
                                 .coverage = ranks->coverage};
  }
  return estimate;
}

}  // namespace doxlab::stats
