#pragma once
/// How what a lost packet carried came after all.

#include <map>
#include <span>
#include <string>

#include "dissect/flow.hpp"
#include "trace/causes.hpp"

namespace doxlab::experiment {

/// How many round trips each need took.
using Needs = std::map<trace::Need, std::size_t>;
Needs needs_of(const trace::Causes& causes);

/// For example "sent again after 1011.5 ms; SYN retransmission 1011.4 ms": when, and what the lookup waited for.
/// "nothing in it to send again": an acknowledgement alone. `packets` are those that the dissection was made of,
/// `causes` may be null: no answer. `usual`: what the lookup without losses needed its round trips for.
std::string describe_recovery(const dissect::Dissection& dissection, std::span<const dissect::ObservedPacket> packets,
                              std::size_t lost, const trace::Causes* causes, const Needs& usual);

/// Milliseconds for which a lookup waited for timers or without a known reason, by the names of
/// trace::cause_name().
std::map<std::string, double> waits_ms(const trace::Causes& causes);

}  // namespace doxlab::experiment
