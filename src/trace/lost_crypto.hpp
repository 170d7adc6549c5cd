#pragma once
/// The fault of a QUIC endpoint that does not send lost handshake data again: its probes carry PING or acknowledgements,
/// or data of another packet number space, while the peer still lacks older CRYPTO data. Internal.

#include <span>
#include <vector>

#include "trace/detectors.hpp"

namespace doxlab::trace {

/// One finding for each direction and space where CRYPTO octets were sent, never arrived and were never sent again,
/// although their sender, once their loss must have shown (a second, which is the first probe timeout of RFC 9002),
/// went on to send at least twice. A sender whose repetition was lost too is not at fault, nor is one that had no time
/// left.
std::vector<Detected> find_lost_crypto(const dissect::Dissection& dissection,
                                       std::span<const dissect::ObservedPacket> packets, const std::vector<Carried>& carried);

}  // namespace doxlab::trace
