#pragma once
/// From what single losses cost to the latency distribution under independent losses. Whether a packet is lost
/// decides what is sent next, so lookups are the leaves of a tree: one in which exactly the packets of a set
/// were lost, of all that were sent, has the probability p^lost (1-p)^delivered. The leaves that were measured
/// are disjoint; what they leave over is stated, not guessed.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "results/dropmap.hpp"

namespace doxlab::experiment {

/// A lookup in which just these losses happened.
struct LossLeaf {
  std::size_t lost = 0;      ///< packets
  std::size_t sent = 0;      ///< in both directions as far as they can matter for its time, lost ones included
  std::optional<double> ms;  ///< empty: no answer
  double weight = 1;         ///< share of this leaf, where lookups with the same losses went differently
};

/// `loss` is the probability, each direction, from 0 to 1. `least_ms`: no lookup is faster, however many
/// losses it meets. Quantiles: 0.5, 0.9, 0.95, 0.99. What is not explained may be anything from `least_ms` to
/// no answer at all; a quantile that depends on it is a range.
results::DropmapExpected expect_under_loss(std::span<const LossLeaf> leaves, double loss, double least_ms);

}  // namespace doxlab::experiment
