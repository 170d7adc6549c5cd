#pragma once
/// Keys of DNSCrypt: X25519 pairs of clients and resolvers, and the provider's Ed25519 key. Secret octets are
/// wiped when they go.

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace doxlab::dnscrypt {

inline constexpr std::size_t kKeyOctets = 32;
inline constexpr std::size_t kSignatureOctets = 64;

using PublicKey = std::array<std::uint8_t, kKeyOctets>;  ///< X25519 or Ed25519
using Signature = std::array<std::uint8_t, kSignatureOctets>;

/// Initialises libsodium once for the process. Every function here that needs it calls it.
/// Errors: std::runtime_error, where the system has no random numbers.
void initialise();

/// Fills `out` from the system's generator.
void fill_random(std::span<std::uint8_t> out);
template <std::size_t N>
std::array<std::uint8_t, N> random_octets() {
  std::array<std::uint8_t, N> octets;
  fill_random(octets);
  return octets;
}

/// A public key, or a provider's seed, in hexadecimal as operators exchange it; colons and spaces are ignored.
/// Errors: anything but 64 digits.
Result<PublicKey> parse_key(std::string_view text);

/// Octets that are wiped when they go and when they move.
template <std::size_t N>
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::span<const std::uint8_t, N> octets) {
    std::copy(octets.begin(), octets.end(), octets_.begin());
  }
  Secret(Secret&& other) noexcept : octets_(other.octets_) { other.wipe(); }
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      octets_ = other.octets_;
      other.wipe();
    }
    return *this;
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { wipe(); }

  const std::uint8_t* data() const { return octets_.data(); }
  std::uint8_t* data() { return octets_.data(); }
  std::span<const std::uint8_t, N> view() const { return octets_; }
  void wipe() { sodium_memzero(octets_.data(), N); }

 private:
  std::array<std::uint8_t, N> octets_{};
};

/// An X25519 pair: a client's, or a resolver's short-term one.
struct KeyPair {
  PublicKey public_key{};
  Secret<kKeyOctets> secret_key;

  static KeyPair generate();
  static KeyPair from_secret(std::span<const std::uint8_t, kKeyOctets> secret);
};

/// The provider's long-term Ed25519 key. It signs certificates and never meets a query.
class ProviderKey {
 public:
  static ProviderKey generate();
  static ProviderKey from_seed(std::span<const std::uint8_t, kKeyOctets> seed);

  const PublicKey& public_key() const { return public_key_; }
  Signature sign(BytesView message) const;

 private:
  ProviderKey() = default;
  PublicKey public_key_{};
  Secret<kSignatureOctets> secret_key_;
};

bool is_signature_of(const PublicKey& provider, BytesView message, const Signature& signature);

}  // namespace doxlab::dnscrypt
