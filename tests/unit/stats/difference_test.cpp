#include "stats/difference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace doxlab::stats {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> from_to(int first, int last) {
  std::vector<double> values;
  for (int v = first; v <= last; ++v) values.push_back(v);
  return values;
}

TEST(QuantileDifference, JoinsTheIntervalsOfBoth) {
  const Samples a(from_to(1, 100)), b(from_to(201, 300));
  const auto estimate = quantile_difference(a, b, 0.5);
  EXPECT_EQ(estimate.value, (Range{200, 200}));
  const auto ranks = quantile_ranks(100, 0.5, 0.975);
  ASSERT_TRUE(estimate.interval && ranks);
  const double width = static_cast<double>(ranks->high - ranks->low);
  EXPECT_EQ(*estimate.interval, (Range{200 - width, 200 + width}));
  EXPECT_GE(estimate.coverage, 0.95);
}

TEST(QuantileDifference, CensoringOpensTheEndThatItHides) {
  const Samples a(from_to(1, 100)), b(from_to(1, 40), 60, 1000);
  const auto later = quantile_difference(a, b, 0.5);
  EXPECT_EQ(later.value, (Range{950, kInfinity}));
  ASSERT_TRUE(later.interval);
  EXPECT_EQ(later.interval->high, kInfinity);
  EXPECT_TRUE(std::isfinite(later.interval->low));
  const auto earlier = quantile_difference(b, a, 0.5);
  EXPECT_EQ(earlier.value, (Range{-kInfinity, -950}));
  EXPECT_EQ(quantile_difference(b, b, 0.5).value, (Range{-kInfinity, kInfinity}));
}

TEST(QuantileDifference, TooFewSamplesOfEitherGiveNoInterval) {
  const Samples few(from_to(1, 10)), many(from_to(1, 400));
  EXPECT_FALSE(quantile_difference(few, many, 0.95).interval);
  EXPECT_FALSE(quantile_difference(many, few, 0.95).interval);
  EXPECT_EQ(quantile_difference(few, many, 0.95).samples_needed, samples_needed(0.95, 0.975));
}

TEST(PairedMedianDifference, SeesAShiftThatIsSmallBesideTheSpread) {
  std::vector<Pair> pairs;
  for (int i = 1; i <= 30; ++i) pairs.push_back({{i * 100.0, false}, {i * 100.0 + 5, false}});
  const auto estimate = paired_median_difference(pairs);
  EXPECT_EQ(estimate.value, (Range{5, 5}));
  EXPECT_EQ(estimate.interval, (Range{5, 5}));
}

TEST(PairedMedianDifference, CensoredSidesTakeTheWorseReading) {
  std::vector<Pair> pairs(20, Pair{{10, false}, {15, false}});
  pairs.resize(23, Pair{{10, false}, {5000, true}});   // b at least 4990 later
  pairs.resize(26, Pair{{5000, true}, {15, false}});   // b at least 4985 earlier
  pairs.resize(27, Pair{{5000, true}, {5000, true}});  // nothing known
  const auto estimate = paired_median_difference(pairs);
  EXPECT_EQ(estimate.value, (Range{5, 5}));
  EXPECT_EQ(estimate.interval, (Range{5, 5}));

  const std::vector<Pair> unknown(10, Pair{{5000, true}, {5000, true}});
  EXPECT_EQ(paired_median_difference(unknown).interval, (Range{-kInfinity, kInfinity}));
}

TEST(PairedMedianDifference, FewPairsHaveAValueButNoInterval) {
  const std::vector<Pair> pairs(5, Pair{{1, false}, {2, false}});
  const auto estimate = paired_median_difference(pairs);
  EXPECT_EQ(estimate.value, (Range{1, 1}));
  EXPECT_FALSE(estimate.interval);
  EXPECT_EQ(estimate.samples_needed, 6u);
}

TEST(Difference, RefusesEmptySetsAndInfiniteValues) {
  EXPECT_THROW(quantile_difference(Samples({}), Samples({1}), 0.5), std::invalid_argument);
  EXPECT_THROW(paired_median_difference({}), std::invalid_argument);
  const std::vector<Pair> infinite(3, Pair{{kInfinity, false}, {1, false}});
  EXPECT_THROW(paired_median_difference(infinite), std::invalid_argument);
}

}  // namespace
}  // namespace doxlab::stats
