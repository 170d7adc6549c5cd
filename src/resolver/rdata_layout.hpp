#pragma once
/// Where the names are in rdata whose names may be compressed. Internal to resolver.

#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"

namespace doxlab::resolver {

/// Names follow each other after `prefix` octets. Only types of RFC 1035 have any (RFC 3597 §4).
struct RdataLayout {
  std::size_t prefix = 0;
  int names = 0;
};
RdataLayout layout_of(std::uint16_t type);

/// Octets of the uncompressed name in front of `bytes`. The caller guarantees that there is one.
std::size_t name_octets(BytesView bytes);

/// True if rdata, uncompressed, is what its type asks for. A zone may give any octets in the generic form
/// (RFC 3597 §5), so this is asked before rdata is served.
bool is_sound_rdata(std::uint16_t type, BytesView rdata);

}  // namespace doxlab::resolver
