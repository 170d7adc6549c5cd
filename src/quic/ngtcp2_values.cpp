#include "quic/ngtcp2_values.hpp"

#include <ngtcp2/ngtcp2_crypto_ossl.h>
#include <openssl/rand.h>

#include <stdexcept>

namespace doxlab::quic::internal {

void initialize_library() {
  static const bool ready = ngtcp2_crypto_ossl_init() == 0;
  if (!ready) throw std::runtime_error("ngtcp2 cannot use this OpenSSL");
}

bool fill_random(std::span<std::uint8_t> out) {
  return RAND_bytes(out.data(), static_cast<int>(out.size())) == 1;
}

ngtcp2_cid random_connection_id(std::size_t length) {
  ngtcp2_cid id{};
  id.datalen = length;
  if (!fill_random({id.data, length})) throw std::runtime_error("OpenSSL has no random numbers");
  return id;
}

}  // namespace doxlab::quic::internal
