#pragma once
/// Domain names: presentation form (RFC 1035 §5.1, escapes \X and \DDD) to wire form (RFC 1035 §3.1) and
/// back, and the checks that names inside a hostile message need.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace doxlab::dns {

inline constexpr std::size_t kMaxNameOctets = 255;  ///< RFC 1035 §2.3.4
inline constexpr std::size_t kMaxLabelOctets = 63;

/// Pointers followed within one name. A name of 255 octets has at most 127 labels, so a name that
/// compresses usefully never needs more.
inline constexpr int kMaxPointerHops = 127;

/// The uncompressed wire form, case kept. A missing final dot is added: every name is absolute.
/// Errors: empty text, empty label, label over 63 octets, name over 255 octets, bad escape, octets outside
/// printable ASCII (write \DDD, or punycode for international names).
Result<Bytes> name_to_wire(std::string_view text);

/// Presentation form with a final dot. Everything but letters, digits and "-_*/" is escaped.
/// The caller guarantees a whole uncompressed name at the front of `wire`.
std::string name_to_text(BytesView wire);

/// A name of a message, uncompressed.
struct ExpandedName {
  Bytes wire;
  std::size_t octets_in_message = 0;  ///< what it takes where it stands
};
/// Expands the name at `at`. nullopt: it runs past `end`, is too long, has a label type other than 00 and
/// 11, or a pointer that does not go backwards past the header, or too many pointers (RFC 9267 §2).
std::optional<ExpandedName> expand_name(BytesView message, std::size_t at, std::size_t end);

/// The same checks without the copy: octets of the name where it stands. `expanded_octets`, if given,
/// grows by its uncompressed length.
std::optional<std::size_t> check_name(BytesView message, std::size_t at, std::size_t end,
                                      std::size_t* expanded_octets = nullptr);

/// True if two runs of octets are equal when A-Z and a-z are the same (RFC 4343). Label lengths are below
/// 'A', so whole wire names can be compared.
bool equal_ignoring_case(BytesView a, BytesView b);

/// A-Z to a-z, other octets as they are; no locale.
constexpr std::uint8_t to_lower(std::uint8_t octet) {
  return octet >= 'A' && octet <= 'Z' ? static_cast<std::uint8_t>(octet + 32) : octet;
}

}  // namespace doxlab::dns
