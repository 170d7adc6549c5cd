#pragma once
/// How far the two ends are from where a capture was made.

#include <array>
#include <optional>
#include <span>

#include "dissect/flow.hpp"

namespace doxlab::trace {

/// The shortest time from a packet to one that could not have been sent without it, by dissect::side() of the direction of the
/// first: from data to its acknowledgement, from ClientHello to ServerHello, Finished to Finished, Retry to its token, query to
/// answer, and from what allowed a server to exceed three times what it had received. It is the way to that end and back with the least computing there. `sent` is when a packet was seen; one without
/// `delivered` asks for nothing. Data that was sent twice says nothing (RFC 6298 section 3). Empty: there is no such pair.
std::array<std::optional<Duration>, 2> shortest_ways_back(const dissect::Dissection& dissection,
                                                           std::span<const dissect::ObservedPacket> packets);

/// The same; where there is no such pair, from the last packet towards the end before it first answered to that answer. Later
/// packets cross each other, so that only the beginning tells. Zero: the end never answered.
std::array<Duration, 2> ways_back(const dissect::Dissection& dissection, std::span<const dissect::ObservedPacket> packets);

}  // namespace doxlab::trace
