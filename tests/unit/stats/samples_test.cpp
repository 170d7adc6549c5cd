#include "stats/samples.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace doxlab::stats {
namespace {

TEST(Samples, RanksCensoredOnesLast) {
  const Samples samples({30, 10, 20}, 2, 5000);
  EXPECT_EQ(samples.size(), 5u);
  EXPECT_EQ(samples.at_rank(1), (Bound{10, false}));
  EXPECT_EQ(samples.at_rank(3), (Bound{30, false}));
  EXPECT_EQ(samples.at_rank(4), (Bound{5000, true}));
  EXPECT_EQ(samples.at_rank(5), (Bound{5000, true}));
}

TEST(Samples, AnswersAtOrAfterTheLimitAreCensored) {
  const Samples samples({10, 5000, 5001}, 1, 5000);
  EXPECT_EQ(samples.size(), 4u);
  EXPECT_EQ(samples.censored(), 3u);
  EXPECT_EQ(samples.answered().size(), 1u);
}

TEST(Samples, RanksOutsideAreRefused) {
  const Samples samples({1, 2});
  EXPECT_THROW(samples.at_rank(0), std::out_of_range);
  EXPECT_THROW(samples.at_rank(3), std::out_of_range);
  EXPECT_THROW(Samples({}).at_rank(1), std::out_of_range);
}

TEST(Samples, RefusesWhatCannotBeRanked) {
  EXPECT_THROW(Samples({1, NAN}), std::invalid_argument);
  EXPECT_THROW(Samples({1, INFINITY}), std::invalid_argument);
  EXPECT_THROW(Samples({1}, 1), std::invalid_argument);
  EXPECT_THROW(Samples({1}, 0, NAN), std::invalid_argument);
}

TEST(Bound, AtLeastComesAfterEveryPlainValue) {
  EXPECT_LT((Bound{4999, false}), (Bound{5000, true}));
  EXPECT_LT((Bound{1, false}), (Bound{2, false}));
  EXPECT_FALSE((Bound{5000, true}) < (Bound{5000, true}));
}

}  // namespace
}  // namespace doxlab::stats
