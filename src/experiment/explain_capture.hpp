#pragma once
/// The same explanation for packets that somebody else captured: at one end, at the other, or between. What arrived is
/// then not seen, and times at the far end are not known: they are set to the middle of the first round trip of the flow.

#include "dissect/flow_collector.hpp"
#include "dissect/key_log.hpp"
#include "results/explanation.hpp"

namespace doxlab::experiment {

/// Explains the first query of a flow. Empty: there is no client that could be told apart.
std::optional<results::Explanation> explain_flow(const dissect::Flow& flow, const dissect::KeyLog& keys);

}  // namespace doxlab::experiment
