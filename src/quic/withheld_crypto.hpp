#pragma once
/// The fault of Options::withhold_initial_retransmission: CRYPTO frames of Initial packets that repeat what was
/// sent before become PADDING as the packet is encrypted. ngtcp2 believes that it sent them. Private to the room.

#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>

#include "base/bytes.hpp"

namespace doxlab::quic::internal {

/// What one connection has sent.
class WithheldCrypto {
 public:
  /// Blanks repeated CRYPTO frames in the payload of an Initial packet (RFC 9000 §12.4, §19). What cannot be
  /// read stays as it is.
  void blank_repeated(std::span<std::uint8_t> payload);

  /// While it lives, packets that this thread encrypts are this connection's.
  class Writing {
   public:
    explicit Writing(WithheldCrypto* connection);
    ~Writing();
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;

   private:
    WithheldCrypto* before_;
  };

  /// ngtcp2's encrypt callback.
  static int encrypt(std::uint8_t* out, const ngtcp2_crypto_aead* aead, const ngtcp2_crypto_aead_ctx* context,
                     const std::uint8_t* plaintext, std::size_t length, const std::uint8_t* nonce,
                     std::size_t nonce_length, const std::uint8_t* header, std::size_t header_length);

 private:
  std::uint64_t sent_ = 0;  ///< octets of the CRYPTO stream, from its start
};

}  // namespace doxlab::quic::internal
