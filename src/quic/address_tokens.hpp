#pragma once
/// What proves a client's address, and what resets a lost connection, all from one secret of the endpoint:
/// Retry tokens, NEW_TOKEN tokens, stateless reset tokens. Private to the room.

#include <ngtcp2/ngtcp2.h>

#include <array>

#include "base/address.hpp"
#include "base/bytes.hpp"

namespace doxlab::quic::internal {

enum class TokenVerdict : std::uint8_t {
  Unknown,  ///< not one of ours, or damaged: as if there were none
  Retry,    ///< answers a Retry of this endpoint: address proven
  Regular,  ///< came in NEW_TOKEN: address proven
  Invalid,  ///< a Retry token for another address or connection ID, or too old (RFC 9000 §8.1.3)
};

class AddressTokens {
 public:
  /// Draws the secret. Errors: std::runtime_error without randomness.
  AddressTokens();

  /// Empty if OpenSSL fails.
  Bytes make_retry(std::uint32_t version, const SocketAddress& client, const ngtcp2_cid& retry_source,
                   const ngtcp2_cid& original_destination, ngtcp2_tstamp now) const;
  Bytes make_regular(const SocketAddress& client, ngtcp2_tstamp now) const;
  /// `destination` is the Initial's Destination Connection ID. For Retry, `original_destination` is filled.
  TokenVerdict check(BytesView token, std::uint32_t version, const SocketAddress& client,
                     const ngtcp2_cid& destination, ngtcp2_tstamp now,
                     ngtcp2_cid& original_destination) const;
  bool make_reset(const ngtcp2_cid& id, ngtcp2_stateless_reset_token& out) const;

 private:
  std::array<std::uint8_t, 32> secret_;
};

}  // namespace doxlab::quic::internal
