#pragma once
/// Makes QUIC packets as an endpoint would, for tests of what our own endpoints do not do.

#include <openssl/evp.h>

#include "dissect/quic_packet.hpp"

namespace doxlab::dissect::test {

/// AES-128-GCM, with header protection from `header_secret`, which key updates leave as it is, and packet
/// numbers of 4 octets. `header` ends before the packet number; its first octet has the bits of a packet
/// number length of 4.
inline Bytes seal(std::uint32_t version, BytesView secret, BytesView header_secret, Bytes header,
                  std::uint32_t number, BytesView frames) {
  const bool is_second = version == kQuicVersion2;
  const auto key = expand_label(secret, is_second ? "quicv2 key" : "quic key", 16);
  auto nonce = expand_label(secret, is_second ? "quicv2 iv" : "quic iv", 12);
  const auto number_at = header.size();
  for (int i = 3; i >= 0; --i) header.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
  for (std::size_t i = 0; i < 4; ++i) nonce[11 - i] ^= static_cast<std::uint8_t>(number >> (8 * i));
  const CipherContext context(EVP_CIPHER_CTX_new());
  Bytes out = header;
  out.resize(header.size() + frames.size() + kTagBytes);
  int length = 0;
  EVP_EncryptInit_ex(context.get(), EVP_aes_128_gcm(), nullptr, key.data(), nonce.data());
  EVP_EncryptUpdate(context.get(), nullptr, &length, header.data(), static_cast<int>(header.size()));
  EVP_EncryptUpdate(context.get(), out.data() + header.size(), &length, frames.data(),
                    static_cast<int>(frames.size()));
  EVP_EncryptFinal_ex(context.get(), out.data() + header.size() + frames.size(), &length);
  EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes,
                      out.data() + header.size() + frames.size());
  QuicKeys keys(version, Cipher::Aes128Gcm, header_secret);
  const auto mask = keys.header.mask(BytesView(out).subspan(number_at + 4, HeaderProtection::kSampleBytes));
  out[0] ^= static_cast<std::uint8_t>(mask[0] & ((out[0] & 0x80) != 0 ? 0x0f : 0x1f));
  for (std::size_t i = 0; i < 4; ++i) out[number_at + i] ^= mask[i + 1];
  return out;
}

/// A client's Initial of 1200 octets with these frames and PADDING.
inline Bytes seal_client_initial(BytesView destination_id, BytesView source_id, std::uint32_t number,
                                 Bytes frames, std::uint32_t version = kQuicVersion1, BytesView origin = {}) {
  ByteWriter header;
  header.u8(version == kQuicVersion2 ? 0xd3 : 0xc3);
  header.u32(version);
  header.u8(static_cast<std::uint8_t>(destination_id.size()));
  header.append(destination_id);
  header.u8(static_cast<std::uint8_t>(source_id.size()));
  header.append(source_id);
  header.u8(0);
  const auto rest = 1200 - header.size() - 2;
  header.u16(static_cast<std::uint16_t>(0x4000 | rest));
  frames.resize(rest - 4 - kTagBytes);
  const auto secret = initial_secrets(version, origin.empty() ? destination_id : origin)[0];
  return seal(version, secret, secret, header.take(), number, frames);
}

/// A 1-RTT packet. `first_secret`: that before any key update.
inline Bytes seal_short(BytesView secret, BytesView first_secret, BytesView destination_id,
                        std::uint32_t number, bool key_phase, BytesView frames) {
  Bytes header = {static_cast<std::uint8_t>(0x43 | (key_phase ? 4 : 0))};
  header.insert(header.end(), destination_id.begin(), destination_id.end());
  return seal(kQuicVersion1, secret, first_secret, std::move(header), number, frames);
}

}  // namespace doxlab::dissect::test
