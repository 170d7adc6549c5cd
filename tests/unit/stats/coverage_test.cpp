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
