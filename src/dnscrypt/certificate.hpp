#pragma once
/// Resolver certificates: what a provider signs to say which short-term key a resolver has, and for how long.
/// Sections are those of draft-denis-dprive-dnscrypt-11.
///
///   "DNSC" (4) | es-version (2) | protocol minor version (2) | signature (64)
///   | resolver key (32) | client magic (8) | serial (4) | start (4) | end (4) | extensions
///
/// The signature covers the second line. Unix time is an argument wherever a date matters.

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "dnscrypt/box.hpp"
#include "dnscrypt/keys.hpp"

namespace doxlab::dnscrypt {

/// Seconds since 1970. Certificates hold 32 bits of it (until 2106).
using UnixSeconds = std::uint64_t;

/// Octets of a certificate without extensions.
inline constexpr std::size_t kCertificateOctets = 124;

struct Certificate {
  EsVersion es_version = EsVersion::X25519XChaCha20Poly1305;
  std::uint16_t minor_version = 0;
  Signature signature{};
  PublicKey resolver_key{};
  ClientMagic client_magic{};
  std::uint32_t serial = 0;
  std::uint32_t start = 0, end = 0;  ///< valid from and until, both inclusive
  Bytes extensions;                  ///< of unknown meaning; signed, otherwise ignored

  bool operator==(const Certificate&) const = default;
};

/// Reads a certificate without judging it. Errors: too short, another magic, an es-version that is not
/// supported (its key may have another length, so nothing behind it is read).
Result<Certificate> parse_certificate(BytesView wire);
Bytes compose_certificate(const Certificate& certificate);

/// Sets the signature.
void sign_certificate(Certificate& certificate, const ProviderKey& provider);

/// Whether it may be used at `now`. Errors: wrong signature, dates that are empty or inverted, not yet valid,
/// expired, a client magic that must not be used. The sentence says which.
Result<void> check_certificate(const Certificate& certificate, const PublicKey& provider, UnixSeconds now);

/// Of the usable ones, those of the first construction in `accepted` that has any; of these the highest
/// serial (§5.5). Errors: none is usable; says what is wrong with the last one of an accepted construction,
/// or of any.
Result<Certificate> choose_certificate(std::span<const Bytes> certificates, const PublicKey& provider,
                                       UnixSeconds now, std::span<const EsVersion> accepted);

}  // namespace doxlab::dnscrypt
