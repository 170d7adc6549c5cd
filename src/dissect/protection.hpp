#pragma once
/// What protects TLS 1.3 records and QUIC packets, seen from an observer who has the secrets: key expansion,
/// opening of AEADs, masks of QUIC header protection.

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.hpp"

namespace doxlab::dissect {

/// The AEADs of TLS 1.3 cipher suites 0x1301, 0x1302, 0x1303. All have tags of 16 octets.
enum class Cipher : std::uint8_t { Aes128Gcm, Aes256Gcm, ChaCha20Poly1305 };
inline constexpr std::size_t kTagBytes = 16;
std::size_t key_bytes(Cipher cipher);
/// The ciphers whose hash makes secrets of this length: SHA-256 (32) or SHA-384 (48).
std::span<const Cipher> ciphers_of_secret(std::size_t secret_bytes);

/// HKDF-Extract with SHA-256 (RFC 5869 §2.2).
Bytes hkdf_extract(BytesView salt, BytesView input);
/// HKDF-Expand-Label with an empty context (RFC 8446 §7.1), by the hash that the secret's length tells.
/// `length` is at most that of the secret.
Bytes expand_label(BytesView secret, std::string_view label, std::size_t length);

struct CipherContextDeleter {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, CipherContextDeleter>;

/// A key and the static part of its nonces (RFC 8446 §5.3, RFC 9001 §5.3).
class Aead {
 public:
  /// Errors: std::runtime_error if the library refuses (no memory).
  Aead(Cipher cipher, BytesView key, BytesView iv);
  /// The plaintext of a ciphertext with its tag; empty: it is not authentic. `number` is the record's
  /// sequence number or the packet number.
  std::optional<Bytes> open(std::uint64_t number, BytesView associated_data, BytesView ciphertext);

 private:
  CipherContext context_;
  std::array<std::uint8_t, 12> iv_{};
};

/// RFC 9001 §5.4.
class HeaderProtection {
 public:
  static constexpr std::size_t kSampleBytes = 16;
  HeaderProtection(Cipher cipher, BytesView key);
  /// `sample` has 16 octets.
  std::array<std::uint8_t, 5> mask(BytesView sample);

 private:
  Cipher cipher_;
  CipherContext context_;
};

}  // namespace doxlab::dissect
