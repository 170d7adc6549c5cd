#pragma once
/// Packets that were sent because a timer of their sender ran out. Internal.

#include <optional>
#include <span>
#include <vector>

#include "trace/causes.hpp"

namespace doxlab::trace {

/// The packet whose loss, or whose acknowledgement's loss, made its sender send `packet` once a timer ran out: the
/// last before it with the same octets (SYN, FIN, query), or for a probe without data the last of its space that asked
/// for an acknowledgement. Empty: `packet` is new, or something that its sender received prompted it, be it an
/// acknowledgement of what was sent after the lost packet or a probe of the peer. Nothing before
/// `started` counts.
std::optional<std::uint32_t> timed_out(const dissect::Dissection& dissection,
                                       std::span<const dissect::ObservedPacket> packets,
                                       const std::vector<Carried>& carried, std::uint32_t packet,
                                       Timestamp started, Duration round_trip);

/// The shortest way there and back that packets of this lookup took.
Duration shortest_round_trip(std::span<const dissect::ObservedPacket> packets);

/// An end that reacts at once has answered within this time. No timer that matters is shorter.
inline constexpr Duration kReaction = 4ms;

}  // namespace doxlab::trace
