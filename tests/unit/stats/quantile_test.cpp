#include "stats/quantile.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace doxlab::stats {
namespace {

Samples one_to(std::size_t n, std::size_t censored = 0) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  return Samples(std::move(values), censored, 1e6);
}

// P(B <= k) for Binomial(n, p), summed directly: another way than the one under test.
double binomial_at_most(std::size_t n, double p, std::size_t k) {
  double sum = 0;
  for (std::size_t i = 0; i <= k; ++i) {
    const double dn = static_cast<double>(n), di = static_cast<double>(i);
    sum += std::exp(std::lgamma(dn + 1) - std::lgamma(di + 1) - std::lgamma(dn - di + 1) + di * std::log(p) +
                    (dn - di) * std::log1p(-p));
  }
  return sum;
}

// The example of RFC 2330 §11.3: -2, 7, 7, 4, 18, -5; F(-5) = 1/6, F(-2) = 2/6, F(4) = 3/6, F(7) = 5/6, F(18)
// = 1.
TEST(Quantile, FollowsTheEmpiricalDistributionFunction) {
  const Samples samples({-2, 7, 7, 4, 18, -5});
  EXPECT_EQ(quantile(samples, 0.5).value, 4);
  EXPECT_EQ(quantile(samples, 0.25).value, -2);
  EXPECT_EQ(quantile(samples, 0.51).value, 7);
  EXPECT_EQ(quantile(samples, 5.0 / 6).value, 7);
  EXPECT_EQ(quantile(samples, 0.84).value, 18);
}

TEST(Quantile, RankIsNotMovedByRounding) {
  EXPECT_EQ(quantile_rank(20, 0.95), 19u);
  EXPECT_EQ(quantile_rank(100, 0.07), 7u);  // 0.07 * 100 is 7.000000000000001
  EXPECT_EQ(quantile_rank(100, 0.29), 29u);
  EXPECT_EQ(quantile_rank(1000, 0.001), 1u);
  EXPECT_EQ(quantile_rank(300, 0.99), 297u);
  EXPECT_EQ(quantile_rank(301, 0.99), 298u);
  EXPECT_EQ(quantile_rank(1, 0.01), 1u);
  EXPECT_EQ(quantile_rank(1, 0.99), 1u);
  for (std::size_t n = 1; n <= 2000; ++n) {
    for (std::size_t hundredths = 1; hundredths < 100; ++hundredths) {
      const std::size_t exact = (n * hundredths + 99) / 100;
      ASSERT_EQ(quantile_rank(n, static_cast<double>(hundredths) / 100), exact) << n << " " << hundredths;
    }
  }
}

TEST(Quantile, SaysAtLeastWhereItFallsOnACensoredSample) {
  const Samples samples = one_to(95, 5);
  EXPECT_EQ(quantile(samples, 0.95), (Bound{95, false}));
  EXPECT_EQ(quantile(samples, 0.96), (Bound{1e6, true}));
}

TEST(QuantileRanks, CoverageIsTheBinomialProbability) {
  for (const std::size_t n : {10u, 60u, 300u, 1000u}) {
    for (const double p : {0.1, 0.5, 0.9, 0.95, 0.99}) {
      for (const double confidence : {0.8, 0.95, 0.99}) {
        const auto ranks = quantile_ranks(n, p, confidence);
        if (!ranks) continue;
        const double exact = binomial_at_most(n, p, ranks->high - 1) - binomial_at_most(n, p, ranks->low - 1);
        EXPECT_NEAR(ranks->coverage, exact, 1e-9) << n << " " << p << " " << confidence;
        EXPECT_GE(ranks->coverage, confidence - 1e-11);
        EXPECT_NEAR(ranks->miss_below + ranks->miss_above, 1 - ranks->coverage, 1e-12);
        EXPECT_LT(ranks->low, ranks->high);
        EXPECT_LE(ranks->high, n);
      }
    }
  }
}

TEST(QuantileRanks, NoNarrowerPairWouldDo) {
  for (const std::size_t n : {8u, 25u, 60u, 120u}) {
    for (const double p : {0.25, 0.5, 0.9, 0.95}) {
      std::size_t narrowest = 0;
      for (std::size_t low = 1; low < n; ++low) {
        for (std::size_t high = low + 1; high <= n; ++high) {
          const double coverage = binomial_at_most(n, p, high - 1) - binomial_at_most(n, p, low - 1);
          if (coverage < 0.95) continue;
          if (narrowest == 0 || high - low < narrowest) narrowest = high - low;
          break;
        }
      }
      const auto ranks = quantile_ranks(n, p);
      EXPECT_EQ(ranks ? ranks->high - ranks->low : 0, narrowest) << n << " " << p;
    }
  }
}

// Tables of the sign test give ranks 2 and 9 of 10 for the median at 95 % (97.9 % reached).
TEST(QuantileRanks, MedianOfTen) {
  const auto ranks = quantile_ranks(10, 0.5);
  ASSERT_TRUE(ranks);
  EXPECT_EQ(ranks->low, 2u);
  EXPECT_EQ(ranks->high, 9u);
  EXPECT_NEAR(ranks->coverage, 1 - 2.0 * 11 / 1024, 1e-12);
}

TEST(QuantileRanks, TooFewSamplesAreSaidSo) {
  EXPECT_EQ(samples_needed(0.99), 299u);
  EXPECT_EQ(samples_needed(0.95), 59u);
  EXPECT_EQ(samples_needed(0.5), 6u);
  EXPECT_EQ(samples_needed(0.01), 299u);
  for (const double p : {0.01, 0.3, 0.5, 0.75, 0.95, 0.99, 0.999}) {
    for (const double confidence : {0.5, 0.9, 0.95, 0.999}) {
      const std::size_t n = samples_needed(p, confidence);
      EXPECT_TRUE(quantile_ranks(n, p, confidence)) << p << " " << confidence << " " << n;
      EXPECT_TRUE(n == 2 || !quantile_ranks(n - 1, p, confidence)) << p << " " << confidence << " " << n;
    }
  }
  EXPECT_FALSE(quantile_ranks(0, 0.5));
  EXPECT_FALSE(quantile_ranks(1, 0.5, 0.1));
}

TEST(QuantileRanks, MirrorsForTheOppositeQuantile) {
  const auto high = quantile_ranks(400, 0.95), low = quantile_ranks(400, 0.05);
  ASSERT_TRUE(high && low);
  EXPECT_EQ(high->high - high->low, low->high - low->low);
  EXPECT_NEAR(high->coverage, low->coverage, 1e-9);
}

TEST(QuantileRanks, LargeSetsStayWithinTheNormalApproximation) {
  const auto ranks = quantile_ranks(1'000'000, 0.5);
  ASSERT_TRUE(ranks);
  EXPECT_NEAR(static_cast<double>(ranks->high - ranks->low), 2 * 1.96 * 500, 3);
  EXPECT_NEAR(ranks->coverage, 0.95, 0.001);
}

TEST(EstimateQuantile, TellsValueIntervalAndN) {
  const QuantileEstimate estimate = estimate_quantile(one_to(300), 0.99);
  EXPECT_EQ(estimate.n, 300u);
  EXPECT_EQ(estimate.value, (Bound{297, false}));
  ASSERT_TRUE(estimate.interval);
  EXPECT_EQ(estimate.interval->high, (Bound{300, false}));
  EXPECT_GE(estimate.interval->coverage, 0.95);
}

TEST(EstimateQuantile, AnUnknownEndReadsAtLeastTheLimit) {
  const QuantileEstimate estimate = estimate_quantile(one_to(295, 5), 0.99);
  EXPECT_EQ(estimate.value, (Bound{1e6, true}));
  ASSERT_TRUE(estimate.interval);
  EXPECT_FALSE(estimate.interval->low.at_least);
  EXPECT_TRUE(estimate.interval->high.at_least);
  EXPECT_EQ(estimate.censored, 5u);
}

TEST(EstimateQuantile, WithoutEnoughSamplesThereIsNoInterval) {
  const QuantileEstimate estimate = estimate_quantile(one_to(100), 0.99);
  EXPECT_EQ(estimate.value, (Bound{99, false}));
  EXPECT_FALSE(estimate.interval);
  EXPECT_EQ(estimate.samples_needed, 299u);
}

TEST(EstimateQuantile, AnEmptySetHasNothing) {
  const QuantileEstimate estimate = estimate_median(Samples({}));
  EXPECT_EQ(estimate.n, 0u);
  EXPECT_FALSE(estimate.value);
  EXPECT_FALSE(estimate.interval);
}

TEST(EstimateQuantile, RefusesLevelsOutsideZeroAndOne) {
  for (const double bad : {0.0, 1.0, -0.1, 1.5, double{NAN}}) {
    EXPECT_THROW(estimate_quantile(one_to(10), bad), std::invalid_argument);
    EXPECT_THROW(estimate_quantile(one_to(10), 0.5, bad), std::invalid_argument);
    EXPECT_THROW(samples_needed(bad), std::invalid_argument);
  }
  EXPECT_THROW(quantile_rank(0, 0.5), std::invalid_argument);
}

}  // namespace
}  // namespace doxlab::stats
