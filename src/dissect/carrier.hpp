#pragma once
/// Which connection of a dissection something belongs to.

#include <cstdint>

#include "dissect/tile.hpp"
#include "link/path.hpp"

namespace doxlab::dissect {

enum class CarrierKind : std::uint8_t { Udp, Tcp, Quic };

/// Where a message or frame travelled: in a datagram by itself, or on the connection with this index in the
/// Dissection's list of its kind.
struct Carrier {
  CarrierKind kind = CarrierKind::Udp;
  std::uint32_t connection = kNone;
  link::Direction direction = link::Direction::ToServer;
};

/// Index of a direction in arrays of two: 0 towards the server, 1 towards the client.
inline std::size_t side(link::Direction direction) {
  return static_cast<std::size_t>(direction);
}
inline constexpr link::Direction kDirections[] = {link::Direction::ToServer, link::Direction::ToClient};

}  // namespace doxlab::dissect
