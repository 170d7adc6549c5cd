#include "dissect/protection.hpp"

#include <openssl/hmac.h>

#include <algorithm>
#include <stdexcept>

namespace doxlab::dissect {
namespace {

void require(bool holds) {
  if (!holds) throw std::runtime_error("OpenSSL has no memory or lacks an AEAD of TLS 1.3");
}

Bytes hmac(const EVP_MD* hash, BytesView key, BytesView data) {
  Bytes out(EVP_MAX_MD_SIZE);
  unsigned length = 0;
  require(HMAC(hash, key.data(), static_cast<int>(key.size()), data.data(), data.size(), out.data(),
               &length) != nullptr);
  out.resize(length);
  return out;
}

const EVP_CIPHER* aead(Cipher cipher) {
  switch (cipher) {
    case Cipher::Aes128Gcm:
      return EVP_aes_128_gcm();
    case Cipher::Aes256Gcm:
      return EVP_aes_256_gcm();
    case Cipher::ChaCha20Poly1305:
      return EVP_chacha20_poly1305();
  }
  return nullptr;
}

const EVP_CIPHER* mask_cipher(Cipher cipher) {
  switch (cipher) {
    case Cipher::Aes128Gcm:
      return EVP_aes_128_ecb();
    case Cipher::Aes256Gcm:
      return EVP_aes_256_ecb();
    case Cipher::ChaCha20Poly1305:
      return EVP_chacha20();
  }
  return nullptr;
}

}  // namespace

std::size_t key_bytes(Cipher cipher) {
  return cipher == Cipher::Aes128Gcm ? 16 : 32;
}

std::span<const Cipher> ciphers_of_secret(std::size_t secret_bytes) {
  static constexpr std::array kSha256 = {Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305};
  static constexpr std::array kSha384 = {Cipher::Aes256Gcm};
  if (secret_bytes == 32) return kSha256;
  if (secret_bytes == 48) return kSha384;
  return {};
}

Bytes hkdf_extract(BytesView salt, BytesView input) {
  return hmac(EVP_sha256(), salt, input);
}

Bytes expand_label(BytesView secret, std::string_view label, std::size_t length) {
  // No output is longer than one block of HKDF-Expand, T(1).
  ByteWriter info;
  info.u16(static_cast<std::uint16_t>(length));
  info.u8(static_cast<std::uint8_t>(6 + label.size()));
  info.append(as_bytes("tls13 "));
  info.append(as_bytes(label));
  info.u8(0);
  info.u8(1);
  auto out = hmac(secret.size() == 48 ? EVP_sha384() : EVP_sha256(), secret, info.bytes());
  out.resize(length);
  return out;
}

Aead::Aead(Cipher cipher, BytesView key, BytesView iv) : context_(EVP_CIPHER_CTX_new()) {
  require(context_ != nullptr);
  std::ranges::copy(iv.first(iv_.size()), iv_.begin());
  require(EVP_DecryptInit_ex(context_.get(), aead(cipher), nullptr, key.data(), nullptr) == 1);
}

std::optional<Bytes> Aead::open(std::uint64_t number, BytesView associated_data, BytesView ciphertext) {
  if (ciphertext.size() < kTagBytes) return std::nullopt;
  auto nonce = iv_;
  for (std::size_t i = 0; i < 8; ++i) nonce[11 - i] ^= static_cast<std::uint8_t>(number >> (8 * i));
  const auto text = ciphertext.first(ciphertext.size() - kTagBytes);
  Bytes tag = to_bytes(ciphertext.last(kTagBytes));
  // One octet at least, so that the library is never given a null pointer for an output.
  Bytes plaintext(text.size() + 1);
  int length = 0;
  const bool authentic =
      EVP_DecryptInit_ex(context_.get(), nullptr, nullptr, nullptr, nonce.data()) == 1 &&
      EVP_DecryptUpdate(context_.get(), nullptr, &length, associated_data.data(),
                        static_cast<int>(associated_data.size())) == 1 &&
      (text.empty() || EVP_DecryptUpdate(context_.get(), plaintext.data(), &length, text.data(),
                                         static_cast<int>(text.size())) == 1) &&
      EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(context_.get(), plaintext.data() + text.size(), &length) == 1;
  if (!authentic) return std::nullopt;
  plaintext.resize(text.size());
  return plaintext;
}

HeaderProtection::HeaderProtection(Cipher cipher, BytesView key)
    : cipher_(cipher), context_(EVP_CIPHER_CTX_new()) {
  require(context_ != nullptr);
  require(EVP_EncryptInit_ex(context_.get(), mask_cipher(cipher), nullptr, key.data(), nullptr) == 1);
  EVP_CIPHER_CTX_set_padding(context_.get(), 0);
}

std::array<std::uint8_t, 5> HeaderProtection::mask(BytesView sample) {
  static constexpr std::array<std::uint8_t, 5> kZeros{};
  std::array<std::uint8_t, 32> block{};
  int length = 0;
  if (cipher_ == Cipher::ChaCha20Poly1305) {
    // The sample is a counter in little-endian order and a nonce, which is also OpenSSL's form.
    require(EVP_EncryptInit_ex(context_.get(), nullptr, nullptr, nullptr, sample.data()) == 1 &&
            EVP_EncryptUpdate(context_.get(), block.data(), &length, kZeros.data(), kZeros.size()) == 1);
  } else {
    require(EVP_EncryptUpdate(context_.get(), block.data(), &length, sample.data(), kSampleBytes) == 1);
  }
  std::array<std::uint8_t, 5> mask{};
  std::copy_n(block.begin(), mask.size(), mask.begin());
  return mask;
}

}  // namespace doxlab::dissect
