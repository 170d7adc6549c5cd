#pragma once
/// ISO/IEC 7816-4 padding: one octet 0x80, then zeros. Always at least one octet, so it can always be undone.
/// Sections are those of draft-denis-dprive-dnscrypt-11.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.hpp"

namespace doxlab::dnscrypt {

inline constexpr std::size_t kPaddingBlockOctets = 64;
inline constexpr std::size_t kMaxPaddingOctets = 256;

/// `message` with padding up to `size` octets. The caller guarantees size > message.size().
Bytes pad(BytesView message, std::size_t size);

/// The message without its padding; nullopt: no 0x80 after which only zeros come. Borrows from `padded`.
std::optional<BytesView> unpad(BytesView padded);

/// Octets of a padded query over UDP: at least `min_query_octets` and a multiple of 64 (§5.4.1).
std::size_t udp_query_size(std::size_t message_octets, std::size_t min_query_octets);

/// Octets of a padded query over TCP: a multiple of 64 with 1 to 256 octets of padding (§5.4.3). `random`
/// picks one of the four sizes that are possible by its lowest two bits.
std::size_t tcp_query_size(std::size_t message_octets, std::uint8_t random);

/// Octets of a padded answer, at most `limit`: a multiple of 64 where it fits, else exactly `limit` (§5.4.5).
/// The lowest two bits of `choice` ask for 0 to 3 further blocks. The caller guarantees limit >
/// message_octets.
std::size_t response_size(std::size_t message_octets, std::size_t limit, std::uint8_t choice = 0);

}  // namespace doxlab::dnscrypt
