#pragma once
/// DNS stamps (sdns://...) of DNSCrypt servers: address, provider name and provider key in one word, as
/// published in lists of resolvers. Other kinds of stamps are refused.
///
///   "sdns://" base64url( 0x01 | properties (8, little-endian)
///                        | LP(address) | LP(provider key) | LP(provider name) )
///
/// where LP puts a length octet in front.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/address.hpp"
#include "base/error.hpp"
#include "dnscrypt/keys.hpp"

namespace doxlab::dnscrypt {

inline constexpr std::uint16_t kDefaultPort = 443;  ///< draft-denis-dprive-dnscrypt-11 §5.2

struct Stamp {
  /// Bits of `properties`.
  static constexpr std::uint64_t kDnssec = 1, kNoLogs = 2, kNoFilter = 4;

  std::uint64_t properties = 0;
  SocketAddress address;
  PublicKey provider_key{};
  std::string provider_name;  ///< as in the stamp, for example "2.dnscrypt-cert.example.com"

  bool operator==(const Stamp&) const = default;
};

/// Errors: not a stamp, another protocol, bad base64url, fields that are cut off, left over or malformed.
Result<Stamp> parse_stamp(std::string_view text);
/// The port is left out if it is 443. The caller guarantees a provider name of at most 255 octets.
std::string to_string(const Stamp& stamp);

}  // namespace doxlab::dnscrypt
