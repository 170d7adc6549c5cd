#pragma once
/// A packet of a lookup in words: what it carried, and how that came after all when it was lost.

#include <span>
#include <string>

#include "capture/packet.hpp"
#include "dissect/flow.hpp"

namespace doxlab::experiment {

/// "SYN", "ACK only", "Initial: CRYPTO ClientHello 0..1162", "Handshake: CRYPTO Certificate 88..1200, ACK + 1-RTT:
/// STREAM query 44 B": octets without the headers around them.
std::string describe_packet(const dissect::Dissection& dissection, std::size_t packet);

/// For example "SYN sent again after 1003.2 ms by a timer", "data sent again after 41.0 ms, as soon as a packet
/// of the other end arrived", "nothing to send again". `packets` are those that the dissection was made of.
std::string describe_recovery(const dissect::Dissection& dissection, std::span<const capture::RecordedPacket> packets,
                              std::size_t lost);

}  // namespace doxlab::experiment
