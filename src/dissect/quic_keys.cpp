// Keys of QUIC packets (RFC 9001 §5, RFC 9369 §3.3).
#include <algorithm>

#include "dissect/quic_packet.hpp"

namespace doxlab::dissect {
namespace {

/// What the two versions do not share.
struct VersionConstants {
  std::array<std::uint8_t, 20> salt;
  std::string_view key, iv, header, update;
  std::array<std::uint8_t, 16> retry_key;
  std::array<std::uint8_t, 12> retry_nonce;
};

constexpr VersionConstants kConstants1 = {
    .salt = {0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17,
             0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a},
    .key = "quic key",
    .iv = "quic iv",
    .header = "quic hp",
    .update = "quic ku",
    .retry_key = {0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8,
                  0x4e},
    .retry_nonce = {0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb},
};

constexpr VersionConstants kConstants2 = {
    .salt = {0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93,
             0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9},
    .key = "quicv2 key",
    .iv = "quicv2 iv",
    .header = "quicv2 hp",
    .update = "quicv2 ku",
    .retry_key = {0x8f, 0xb4, 0xb0, 0x1b, 0x56, 0xac, 0x48, 0xe2, 0x60, 0xfb, 0xcb, 0xce, 0xad, 0x7c, 0xcc,
                  0x92},
    .retry_nonce = {0xd8, 0x69, 0x69, 0xbc, 0x2d, 0x7c, 0x6d, 0x99, 0x90, 0xef, 0xb0, 0x4a},
};

const VersionConstants& constants(std::uint32_t version) {
  return version == kQuicVersion2 ? kConstants2 : kConstants1;
}

Aead make_aead(std::uint32_t version, Cipher cipher, BytesView secret) {
  const auto& labels = constants(version);
  return {cipher, expand_label(secret, labels.key, key_bytes(cipher)), expand_label(secret, labels.iv, 12)};
}

}  // namespace

QuicKeys::QuicKeys(std::uint32_t quic_version, Cipher aead_cipher, BytesView traffic_secret)
    : version(quic_version),
      cipher(aead_cipher),
      secret(to_bytes(traffic_secret)),
      header_key(expand_label(secret, constants(version).header, key_bytes(cipher))),
      aead(make_aead(version, cipher, secret)),
      header(cipher, header_key) {}

QuicKeys QuicKeys::updated() const {
  QuicKeys next(version, cipher, expand_label(secret, constants(version).update, secret.size()));
  next.header_key = header_key;
  next.header = HeaderProtection(cipher, header_key);
  return next;
}

std::array<Bytes, 2> initial_secrets(std::uint32_t version, BytesView client_destination_id) {
  const auto common = hkdf_extract(constants(version).salt, client_destination_id);
  return {expand_label(common, "client in", common.size()), expand_label(common, "server in", common.size())};
}

bool is_retry_authentic(BytesView retry, std::uint32_t version, BytesView original_destination_id) {
  if (retry.size() < kTagBytes || original_destination_id.size() > 0xff) return false;
  const auto tag = retry.last(kTagBytes);
  ByteWriter pseudo_packet;
  pseudo_packet.u8(static_cast<std::uint8_t>(original_destination_id.size()));
  pseudo_packet.append(original_destination_id);
  pseudo_packet.append(retry.first(retry.size() - kTagBytes));
  // The tag seals an empty plaintext, and number 0 leaves the nonce as it is.
  const auto& version_constants = constants(version);
  return Aead(Cipher::Aes128Gcm, version_constants.retry_key, version_constants.retry_nonce)
      .open(0, pseudo_packet.bytes(), tag)
      .has_value();
}

}  // namespace doxlab::dissect
