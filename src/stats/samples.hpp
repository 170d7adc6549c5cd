#pragma once
/// Measured values of which some are only known to be large: a lookup without an answer within its timeout
/// is a value of "at least the timeout", never a value left out (right-censored, type I). Unit: the caller's,
/// one for the whole set. Used by every experiment that reports quantiles.

#include <compare>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace doxlab::stats {

/// A value, or the knowledge that it is at least `value`. Ordered by rank: "at least" comes after every
/// plain value, since a set has one limit and all its plain values lie below it.
struct Bound {
  double value = 0;
  bool at_least = false;

  friend bool operator==(const Bound&, const Bound&) = default;
  friend std::partial_ordering operator<=>(const Bound& a, const Bound& b) {
    return a.at_least != b.at_least ? a.at_least <=> b.at_least : a.value <=> b.value;
  }
};

/// A fixed set of samples in ascending order.
class Samples {
 public:
  /// Shape:  `answered` in any order, finite; values of `limit` and above count as censored. `censored` is
  /// the
  ///         number of samples without a value. `limit` is the timeout up to which all of them were watched.
  /// Errors: std::invalid_argument for a value that is not finite, or censored samples without a finite
  /// limit.
  explicit Samples(std::vector<double> answered, std::size_t censored = 0,
                   double limit = std::numeric_limits<double>::infinity());

  std::size_t size() const { return answered_.size() + censored_; }
  std::size_t censored() const { return censored_; }
  double limit() const { return limit_; }

  /// The values below the limit, ascending.
  std::span<const double> answered() const { return answered_; }

  /// The order statistic of `rank`, 1 for the smallest.
  /// Errors: std::out_of_range outside 1..size().
  Bound at_rank(std::size_t rank) const;

 private:
  std::vector<double> answered_;
  std::size_t censored_;
  double limit_;
};

}  // namespace doxlab::stats
