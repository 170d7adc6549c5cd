#include "stats/proportion.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <stdexcept>

namespace doxlab::stats {
namespace {

void require(std::size_t successes, std::size_t trials, double confidence) {
  if (successes > trials) throw std::invalid_argument("more successes than trials");
  if (!(confidence > 0 && confidence < 1))
    throw std::invalid_argument("a confidence must lie between 0 and 1");
}

}  // namespace

ProportionInterval clopper_pearson(std::size_t successes, std::size_t trials, double confidence) {
  require(successes, trials, confidence);
  if (trials == 0) return {};
  using Binomial = boost::math::binomial_distribution<double>;
  const double n = static_cast<double>(trials), k = static_cast<double>(successes);
  const double tail = (1 - confidence) / 2;
  return {.low = successes == 0 ? 0 : Binomial::find_lower_bound_on_p(n, k, tail),
          .high = successes == trials ? 1 : Binomial::find_upper_bound_on_p(n, k, tail)};
}

ProportionInterval wilson(std::size_t successes, std::size_t trials, double confidence) {
  require(successes, trials, confidence);
  if (trials == 0) return {};
  const double n = static_cast<double>(trials), share = static_cast<double>(successes) / n;
  const double z =
      boost::math::quantile(boost::math::complement(boost::math::normal(), (1 - confidence) / 2));
  const double centre = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  // At 0 and at all successes one end is exact; rounding must not move it outside.
  return {.low = successes == 0 ? 0 : std::max(0.0, centre - half),
          .high = successes == trials ? 1 : std::min(1.0, centre + half)};
}

}  // namespace doxlab::stats
