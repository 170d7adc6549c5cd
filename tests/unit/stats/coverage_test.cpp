// Simulated coverage: does an interval enclose the truth as often as it says? The seed is fixed and printed,
// the allowed error is four standard errors of the simulation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "stats/difference.hpp"
#include "stats/quantile.hpp"

namespace doxlab::stats {
namespace {

constexpr std::uint64_t kSeed = 20250607;
constexpr int kRuns = 4000;

using Random = std::mt19937_64;

double uniform(Random& random) {
  return std::uniform_real_distribution<double>(0, 1)(random);
}

/// A distribution known by its inverse: draws are inverse(uniform), the true quantile p is inverse(p).
struct Distribution {
  std::string name;
  std::function<double(double)> inverse;
  double limit = std::numeric_limits<double>::infinity();
  bool continuous = true;
};

double exponential(double u) {
  return -std::log1p(-u) * 40;
}

std::vector<Distribution> distributions() {
  return {
      {.name = "exponential", .inverse = exponential},
      {.name = "heavy tail", .inverse = [](double u) { return 20 * std::pow(1 - u, -1.5); }},
      {.name = "two modes", .inverse = [](double u) { return u < 0.93 ? 40 + u : 1040 + u; }},
      {.name = "whole milliseconds",
       .inverse = [](double u) { return std::floor(exponential(u)); },
       .continuous = false},
      {.name = "two values", .inverse = [](double u) { return u < 0.9 ? 1.0 : 2.0; }, .continuous = false},
      {.name = "one value", .inverse = [](double) { return 7.0; }, .continuous = false},
      {.name = "censored at the 90th percentile", .inverse = exponential, .limit = exponential(0.9)},
      {.name = "censored, with ties",
       .inverse = [](double u) { return std::floor(exponential(u) / 20); },
       .limit = 3,
       .continuous = false},
  };
}

Samples draw(const Distribution& from, std::size_t n, Random& random) {
  std::vector<double> answered;
  std::size_t censored = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double value = from.inverse(uniform(random));
    if (value >= from.limit) {
      ++censored;
    } else {
      answered.push_back(value);
    }
  }
  return Samples(std::move(answered), censored, from.limit);
}

bool encloses(const Bound& low, const Bound& high, double truth) {
  return low.value <= truth && (high.at_least || truth <= high.value);
}

double standard_error(double coverage) {
  return std::sqrt(coverage * (1 - coverage) / kRuns);
}

TEST(Coverage, OfAQuantileWithTiesAndCensoring) {
  Random random(kSeed);
  RecordProperty("seed", std::to_string(kSeed));
  for (const Distribution& from : distributions()) {
    for (const auto& [n, p] : {std::pair{15, 0.5}, {61, 0.5}, {80, 0.95}, {320, 0.99}}) {
      const auto ranks = quantile_ranks(static_cast<std::size_t>(n), p);
      ASSERT_TRUE(ranks);
      int enclosed = 0;
      for (int run = 0; run < kRuns; ++run) {
        const Samples samples = draw(from, static_cast<std::size_t>(n), random);
        enclosed += encloses(samples.at_rank(ranks->low), samples.at_rank(ranks->high), from.inverse(p));
      }
      const double seen = static_cast<double>(enclosed) / kRuns;
      const double error = 4 * standard_error(ranks->coverage);
      EXPECT_GE(seen, ranks->coverage - error)
          << from.name << ", n = " << n << ", p = " << p << ", seed " << kSeed;
      // Without ties and with the limit out of reach the coverage is exact, so it must not be too high
      // either.
      if (from.continuous && std::isinf(from.limit)) {
        EXPECT_LE(seen, ranks->coverage + error)
            << from.name << ", n = " << n << ", p = " << p << ", seed " << kSeed;
      }
    }
  }
}

/// As measured: exponential above a least latency, in steps of `step` (0: continuous), watched up to the
/// quantile `watched` of the distribution (1: to the end).
Distribution latencies(double step, double watched) {
  const auto value = [step](double u) {
    const double exact = 40 + exponential(u);
    return step > 0 ? std::round(exact / step) * step : exact;
  };
  return {.name = "steps of " + std::to_string(step) + ", watched up to quantile " + std::to_string(watched),
          .inverse = value,
          .limit = watched < 1 ? value(watched) : std::numeric_limits<double>::infinity(),
          .continuous = step == 0};
}

// What a table prints: estimate_quantile as a whole, at every size and level that supports an interval.
TEST(Coverage, OfEstimatedQuantilesOverSizesAndLevels) {
  constexpr int kDraws = 2000;
  const std::uint64_t seed = kSeed + 3;
  Random random(seed);
  RecordProperty("seed", std::to_string(seed));
  const std::size_t sizes[] = {6, 11, 30, 59, 100, 299, 700};
  const double levels[] = {0.5, 0.75, 0.9, 0.95, 0.99};
  int combinations = 0;
  for (const auto& [step, watched] :
       {std::pair{0.0, 1.0}, {0.0, 0.93}, {0.0, 0.6}, {1.0, 1.0}, {50.0, 1.0}, {200.0, 1.0}, {50.0, 0.93}}) {
    const Distribution from = latencies(step, watched);
    for (const std::size_t n : sizes) {
      std::vector<double> supported;
      for (const double p : levels)
        if (n >= samples_needed(p)) supported.push_back(p);
      // The ranks depend on n and p alone; estimate_quantile is held to them in each draw by its interval's
      // coverage.
      std::vector<int> enclosed(supported.size());
      std::vector<std::optional<RankInterval>> ranks;
      for (const double p : supported) ranks.push_back(quantile_ranks(n, p));
      for (int i = 0; i < kDraws; ++i) {
        const Samples samples = draw(from, n, random);
        for (std::size_t k = 0; k < supported.size(); ++k) {
          const Interval interval{samples.at_rank(ranks[k]->low), samples.at_rank(ranks[k]->high),
                                  ranks[k]->coverage};
          if (i == 0) {
            const auto estimate = estimate_quantile(samples, supported[k]);
            ASSERT_TRUE(estimate.interval);
            ASSERT_EQ(estimate.interval->low, interval.low);
            ASSERT_EQ(estimate.interval->high, interval.high);
          }
          enclosed[k] += encloses(interval.low, interval.high, from.inverse(supported[k]));
        }
      }
      for (std::size_t k = 0; k < supported.size(); ++k) {
        ++combinations;
        const double seen = static_cast<double>(enclosed[k]) / kDraws;
        EXPECT_GE(seen, 0.95 - 4 * std::sqrt(0.95 * 0.05 / kDraws))
            << from.name << ", n = " << n << ", p = " << supported[k] << ", seed " << seed;
      }
    }
  }
  EXPECT_EQ(combinations, 7 * (1 + 2 + 3 + 4 + 4 + 5 + 5));
}

TEST(Coverage, OfADifferenceOfQuantiles) {
  Random random(kSeed + 1);
  RecordProperty("seed", std::to_string(kSeed + 1));
  const auto all = distributions();
  for (const auto& [first, second] : {std::pair{0, 1}, {2, 3}, {4, 2}, {6, 0}, {6, 7}}) {
    const Distribution &a = all[static_cast<std::size_t>(first)], &b = all[static_cast<std::size_t>(second)];
    const double p = 0.75, truth = b.inverse(p) - a.inverse(p);
    int enclosed = 0;
    const int runs = kRuns / 8;  // each run computes its ranks anew
    for (int run = 0; run < runs; ++run) {
      const auto estimate = quantile_difference(draw(a, 40, random), draw(b, 50, random), p);
      ASSERT_TRUE(estimate.interval);
      enclosed += estimate.interval->low <= truth && truth <= estimate.interval->high;
    }
    EXPECT_GE(static_cast<double>(enclosed) / runs, 0.95 - 4 * std::sqrt(0.95 * 0.05 / runs))
        << a.name << " and " << b.name << ", seed " << kSeed + 1;
  }
}

// Both ways meet the same luck u; b needs 25 more, or a further second when its own luck is bad. Timeouts
// censor either side, so many differences are known from one side only.
TEST(Coverage, OfAPairedDifferenceUnderCensoring) {
  Random random(kSeed + 2);
  RecordProperty("seed", std::to_string(kSeed + 2));
  for (const double limit : {std::numeric_limits<double>::infinity(), 120.0, 70.0}) {
    int enclosed = 0;
    const int runs = kRuns / 8;
    for (int run = 0; run < runs; ++run) {
      std::vector<Pair> pairs;
      for (int i = 0; i < 45; ++i) {
        const double a = exponential(uniform(random));
        // The median difference is 25: the noise is below and above 0 equally often.
        const double b = a + 25 + (uniform(random) < 0.5 ? -1 : 1) * exponential(uniform(random));
        const auto watch = [limit](double v) { return v < limit ? Bound{v, false} : Bound{limit, true}; };
        pairs.push_back({watch(a), watch(b)});
      }
      const auto estimate = paired_median_difference(pairs);
      ASSERT_TRUE(estimate.interval);
      enclosed += estimate.interval->low <= 25 && 25 <= estimate.interval->high;
    }
    EXPECT_GE(static_cast<double>(enclosed) / runs, 0.95 - 4 * std::sqrt(0.95 * 0.05 / runs))
        << "limit " << limit << ", seed " << kSeed + 2;
  }
}

}  // namespace
}  // namespace doxlab::stats
