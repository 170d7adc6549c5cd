#include "stats/proportion.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

namespace doxlab::stats {
namespace {

double binomial_pmf(std::size_t n, double p, std::size_t k) {
  const double dn = static_cast<double>(n), dk = static_cast<double>(k);
  return std::exp(std::lgamma(dn + 1) - std::lgamma(dk + 1) - std::lgamma(dn - dk + 1) + dk * std::log(p) +
                  (dn - dk) * std::log1p(-p));
}

/// The exact probability with which an interval encloses `p`: a sum over every possible number of successes.
template <class Interval>
double coverage(Interval interval, std::size_t n, double p) {
  double sum = 0;
  for (std::size_t k = 0; k <= n; ++k) {
    const ProportionInterval i = interval(k, n, 0.95);
    if (i.low <= p && p <= i.high) sum += binomial_pmf(n, p, k);
  }
  return sum;
}

TEST(ClopperPearson, KnownValues) {
  const auto none = clopper_pearson(0, 10);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 1 - std::pow(0.025, 0.1), 1e-12);
  const auto all = clopper_pearson(10, 10);
  EXPECT_NEAR(all.low, std::pow(0.025, 0.1), 1e-12);
  EXPECT_EQ(all.high, 1);
  const auto some = clopper_pearson(15, 300);
  EXPECT_NEAR(some.low, 0.0283, 0.0002);
  EXPECT_NEAR(some.high, 0.0811, 0.0002);
}

TEST(ClopperPearson, NeverCoversLessThanItSays) {
  for (const std::size_t n : {5u, 30u, 100u}) {
    for (double p = 0.005; p < 1; p += 0.005)
      EXPECT_GE(coverage(clopper_pearson, n, p), 0.95 - 1e-9) << n << " " << p;
  }
}

TEST(Wilson, KnownValues) {
  const auto some = wilson(15, 300);
  EXPECT_NEAR(some.low, 0.0305, 0.0001);
  EXPECT_NEAR(some.high, 0.0808, 0.0001);
  const auto none = wilson(0, 100);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 3.8414588 / (100 + 3.8414588), 1e-8);
  EXPECT_EQ(wilson(100, 100).high, 1);
}

TEST(Wilson, CoversAsSaidOnAverageAndNeverMuchLess) {
  double sum = 0;
  int points = 0;
  for (double p = 0.02; p < 0.985; p += 0.005) {
    const double c = coverage(wilson, 100, p);
    EXPECT_GE(c, 0.91) << p;
    sum += c;
    ++points;
  }
  EXPECT_NEAR(sum / points, 0.95, 0.01);
}

TEST(Proportion, NoTrialsSayNothing) {
  EXPECT_EQ(clopper_pearson(0, 0).low, 0);
  EXPECT_EQ(clopper_pearson(0, 0).high, 1);
  EXPECT_EQ(wilson(0, 0).high, 1);
}

TEST(Proportion, RefusesNonsense) {
  EXPECT_THROW(clopper_pearson(2, 1), std::invalid_argument);
  EXPECT_THROW(wilson(2, 1), std::invalid_argument);
  EXPECT_THROW(wilson(1, 2, 1.0), std::invalid_argument);
  EXPECT_THROW(clopper_pearson(1, 2, 0.0), std::invalid_argument);
}

}  // namespace
}  // namespace doxlab::stats
