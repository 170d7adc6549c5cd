#pragma once
/// Packets made from what was seen of them: a datagram from its payload, segments from what a device cuts or has put together.

#include <optional>
#include <vector>

#include "base/address.hpp"
#include "base/bytes.hpp"

namespace doxlab::capture {

/// The IP packet that carries a UDP datagram, without IP options or extension headers, with checksums. The caller guarantees a
/// payload that fits (RFC 768).
Bytes compose_datagram(const SocketAddress& source, const SocketAddress& destination, BytesView payload);

/// The packets that the wire carries of one that segmentation offload (TSO, GSO) or receive offload (GRO) made large: each with
/// `segment_bytes` of its TCP or UDP payload, the last with the rest. Sequence numbers, flags, identification and lengths are those
/// of each; checksums are not made. `packet` may have padding of the link behind, which goes. 0: one packet as it is.
/// Empty: no such packet.
std::vector<Bytes> split_segments(BytesView packet, std::size_t segment_bytes);

}  // namespace doxlab::capture
