#include "experiment/expected.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace doxlab::experiment {
namespace {

constexpr double kNoAnswer = std::numeric_limits<double>::infinity();
constexpr double kQuantiles[] = {0.5, 0.9, 0.95, 0.99};
/// Sums of many products are not exact.
constexpr double kRounding = 1e-12;

struct Mass {
  double ms = 0, probability = 0;
};

/// The least time with at least `p` at or below it.
double quantile_of(const std::vector<Mass>& sorted, double p) {
  double sum = 0;
  for (const auto& mass : sorted) {
    sum += mass.probability;
    if (sum >= p - kRounding) return mass.ms;
  }
  return kNoAnswer;
}

std::vector<Mass> with(std::vector<Mass> masses, const Mass& more) {
  masses.push_back(more);
  std::ranges::sort(masses, {}, &Mass::ms);
  return masses;
}

std::optional<double> known(double ms) {
  return std::isfinite(ms) ? std::optional(ms) : std::nullopt;
}

}  // namespace

results::DropmapExpected expect_under_loss(std::span<const LossLeaf> leaves, double loss, double least_ms) {
  results::DropmapExpected out;
  out.loss_percent = loss * 100;
  out.order = 0;
  std::vector<Mass> masses;
  double explained = 0;
  for (const auto& leaf : leaves) {
    out.order = std::max<std::uint64_t>(out.order, leaf.lost);
    const double probability = leaf.weight * std::pow(loss, static_cast<double>(leaf.lost)) *
                               std::pow(1 - loss, static_cast<double>(leaf.sent - std::min(leaf.lost, leaf.sent)));
    if (out.by_losses.size() <= leaf.lost) out.by_losses.resize(leaf.lost + 1);
    out.by_losses[leaf.lost] += probability;
    explained += probability;
    if (!leaf.ms) out.no_answer += probability;
    masses.push_back({leaf.ms.value_or(kNoAnswer), probability});
  }
  out.not_explained = std::max(0.0, 1 - explained);
  // Leaves overlap a little where the number of packets differs from lookup to lookup.
  if (explained > 1)
    for (auto& mass : masses) mass.probability /= explained;
  const auto fastest = with(masses, {least_ms, out.not_explained}), slowest = with(masses, {kNoAnswer, out.not_explained});
  for (const double p : kQuantiles) {
    const auto low = quantile_of(fastest, p), high = quantile_of(slowest, p);
    out.quantiles.push_back({.p = p, .low_ms = known(low), .high_ms = known(high), .is_decided = low == high});
  }
  return out;
}

}  // namespace doxlab::experiment
