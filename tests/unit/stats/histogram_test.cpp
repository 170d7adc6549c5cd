#include "stats/histogram.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace doxlab::stats {
namespace {

using testing::ElementsAre;

TEST(LogHistogram, BucketsHaveEqualRatios) {
  LogHistogram histogram(1, 1000, 3);
  EXPECT_NEAR(histogram.edge(0), 1, 1e-9);
  EXPECT_NEAR(histogram.edge(1), 10, 1e-9);
  EXPECT_NEAR(histogram.edge(3), 1000, 1e-6);
  for (const double value : {2.0, 9.0, 11.0, 500.0, 999.0, 400.0}) histogram.add(value);
  EXPECT_THAT(histogram.counts(), ElementsAre(2, 1, 3));
}

TEST(LogHistogram, OutsideValuesGoToTheEndsAndCensoredOnesApart) {
  LogHistogram histogram(10, 100, 2);
  histogram.add(Samples({0, -1, 1, 99, 100, 4000}, 3, 5000));
  histogram.add(INFINITY);
  EXPECT_THAT(histogram.counts(), ElementsAre(3, 4));
  EXPECT_EQ(histogram.censored(), 3u);
}

TEST(LogHistogram, RefusesAnEmptyRange) {
  EXPECT_THROW(LogHistogram(0, 1, 1), std::invalid_argument);
  EXPECT_THROW(LogHistogram(2, 2, 1), std::invalid_argument);
  EXPECT_THROW(LogHistogram(1, INFINITY, 1), std::invalid_argument);
  EXPECT_THROW(LogHistogram(1, 2, 0), std::invalid_argument);
}

TEST(Spark, ShowsEveryCountAboveZero) {
  const std::size_t counts[] = {0, 1, 500, 1000};
  EXPECT_EQ(spark(counts), " ▁▄█");
}

TEST(Spark, NothingGivesBlanks) {
  const std::size_t counts[] = {0, 0};
  EXPECT_EQ(spark(counts), "  ");
  EXPECT_EQ(spark({}), "");
}

}  // namespace
}  // namespace doxlab::stats
