#pragma once
/// Whether a packet carries again what an earlier one of the same sender carried.

#include <cstddef>

#include "dissect/flow.hpp"

namespace doxlab::trace {

/// True if both have octets of the same TCP stream, of the same QUIC STREAM or of the CRYPTO data of the same packet
/// number space in common, or are a SYN, a FIN or a question over plain UDP of the same kind. Indexes of packets.
bool repeats(const dissect::Dissection& dissection, std::size_t packet, std::size_t earlier);

}  // namespace doxlab::trace
