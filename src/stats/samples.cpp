#include "stats/samples.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace doxlab::stats {

Samples::Samples(std::vector<double> answered, std::size_t censored, double limit)
    : answered_(std::move(answered)), censored_(censored), limit_(limit) {
  if (!std::ranges::all_of(answered_, [](double v) { return std::isfinite(v); })) {
    throw std::invalid_argument("a sample must be a finite number");
  }
  if (std::isnan(limit_) || (censored_ > 0 && !std::isfinite(limit_))) {
    throw std::invalid_argument("censored samples need a finite limit");
  }
  std::ranges::sort(answered_);
  const auto first_late = std::ranges::lower_bound(answered_, limit_);
  censored_ += static_cast<std::size_t>(answered_.end() - first_late);
  answered_.erase(first_late, answered_.end());
}

Bound Samples::at_rank(std::size_t rank) const {
  if (rank == 0 || rank > size()) throw std::out_of_range("no such rank");
  if (rank > answered_.size()) return {.value = limit_, .at_least = true};
  return {.value = answered_[rank - 1], .at_least = false};
}

}  // namespace doxlab::stats
