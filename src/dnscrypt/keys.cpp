#include "dnscrypt/keys.hpp"

#include <stdexcept>

namespace doxlab::dnscrypt {

void initialise() {
  static const bool ready = sodium_init() >= 0;
  if (!ready) throw std::runtime_error("libsodium cannot be initialised");
}

void fill_random(std::span<std::uint8_t> out) {
  initialise();
  randombytes_buf(out.data(), out.size());
}

Result<PublicKey> parse_key(std::string_view text) {
  PublicKey key;
  std::size_t size = 0;
  const char* end = nullptr;
  const int status = sodium_hex2bin(key.data(), key.size(), text.data(), text.size(), ": ", &size, &end);
  if (status != 0 || end != text.data() + text.size() || size != key.size())
    return fail("a key has 64 hexadecimal digits");  // without the text, which may be a secret
  return key;
}

KeyPair KeyPair::generate() {
  initialise();
  KeyPair pair;
  crypto_box_keypair(pair.public_key.data(), pair.secret_key.data());
  return pair;
}

KeyPair KeyPair::from_secret(std::span<const std::uint8_t, kKeyOctets> secret) {
  initialise();
  KeyPair pair{{}, Secret<kKeyOctets>(secret)};
  crypto_scalarmult_base(pair.public_key.data(), pair.secret_key.data());
  return pair;
}

ProviderKey ProviderKey::generate() {
  initialise();
  ProviderKey key;
  crypto_sign_keypair(key.public_key_.data(), key.secret_key_.data());
  return key;
}

ProviderKey ProviderKey::from_seed(std::span<const std::uint8_t, kKeyOctets> seed) {
  initialise();
  ProviderKey key;
  crypto_sign_seed_keypair(key.public_key_.data(), key.secret_key_.data(), seed.data());
  return key;
}

Signature ProviderKey::sign(BytesView message) const {
  Signature signature;
  crypto_sign_detached(signature.data(), nullptr, message.data(), message.size(), secret_key_.data());
  return signature;
}

bool is_signature_of(const PublicKey& provider, BytesView message, const Signature& signature) {
  initialise();
  return crypto_sign_verify_detached(signature.data(), message.data(), message.size(), provider.data()) == 0;
}

}  // namespace doxlab::dnscrypt
