#include "quic/address_tokens.hpp"

#include <ngtcp2/ngtcp2_crypto.h>

#include <stdexcept>

#include "quic/ngtcp2_values.hpp"

namespace doxlab::quic::internal {
namespace {

constexpr ngtcp2_duration kRetryLifetime = 10 * NGTCP2_SECONDS;  // a client answers at once
constexpr ngtcp2_duration kRegularLifetime = 24 * 3600 * NGTCP2_SECONDS;

}  // namespace

AddressTokens::AddressTokens() {
  if (!fill_random(secret_)) throw std::runtime_error("OpenSSL has no random numbers");
}

Bytes AddressTokens::make_retry(std::uint32_t version, const SocketAddress& client,
                                const ngtcp2_cid& retry_source, const ngtcp2_cid& original_destination,
                                ngtcp2_tstamp now) const {
  const KernelAddress address = to_kernel(client);
  Bytes token(NGTCP2_CRYPTO_MAX_RETRY_TOKENLEN2);
  const ngtcp2_ssize length = ngtcp2_crypto_generate_retry_token2(
      token.data(), secret_.data(), secret_.size(), version, address.get(), address.length, &retry_source,
      &original_destination, now);
  token.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return token;
}

Bytes AddressTokens::make_regular(const SocketAddress& client, ngtcp2_tstamp now) const {
  const KernelAddress address = to_kernel(client);
  Bytes token(NGTCP2_CRYPTO_MAX_REGULAR_TOKENLEN);
  const ngtcp2_ssize length = ngtcp2_crypto_generate_regular_token(
      token.data(), secret_.data(), secret_.size(), address.get(), address.length, now);
  token.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return token;
}

TokenVerdict AddressTokens::check(BytesView token, std::uint32_t version, const SocketAddress& client,
                                  const ngtcp2_cid& destination, ngtcp2_tstamp now,
                                  ngtcp2_cid& original_destination) const {
  if (token.empty()) return TokenVerdict::Unknown;
  const KernelAddress address = to_kernel(client);
  switch (token[0]) {
    case NGTCP2_CRYPTO_TOKEN_MAGIC_RETRY2:
      switch (ngtcp2_crypto_verify_retry_token2(&original_destination, token.data(), token.size(),
                                                secret_.data(), secret_.size(), version, address.get(),
                                                address.length, &destination, kRetryLifetime, now)) {
        case 0:
          return TokenVerdict::Retry;
        case NGTCP2_CRYPTO_ERR_VERIFY_TOKEN:
          return TokenVerdict::Invalid;
        default:
          return TokenVerdict::Unknown;
      }
    case NGTCP2_CRYPTO_TOKEN_MAGIC_REGULAR:
      return ngtcp2_crypto_verify_regular_token(token.data(), token.size(), secret_.data(), secret_.size(),
                                                address.get(), address.length, kRegularLifetime, now) == 0
                 ? TokenVerdict::Regular
                 : TokenVerdict::Unknown;
    default:
      return TokenVerdict::Unknown;
  }
}

bool AddressTokens::make_reset(const ngtcp2_cid& id, ngtcp2_stateless_reset_token& out) const {
  return ngtcp2_crypto_generate_stateless_reset_token(out.data, secret_.data(), secret_.size(), &id) == 0;
}

}  // namespace doxlab::quic::internal
