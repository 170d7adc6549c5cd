#include "dnscrypt/box.hpp"

#include <algorithm>

#include "dnscrypt/padding.hpp"

namespace doxlab::dnscrypt {
namespace {

static_assert(crypto_box_curve25519xchacha20poly1305_BEFORENMBYTES == kKeyOctets);
static_assert(crypto_box_BEFORENMBYTES == kKeyOctets);
static_assert(crypto_box_curve25519xchacha20poly1305_NONCEBYTES == 2 * kHalfNonceOctets);
static_assert(crypto_box_NONCEBYTES == 2 * kHalfNonceOctets);
static_assert(crypto_box_curve25519xchacha20poly1305_MACBYTES == kTagOctets);
static_assert(crypto_box_MACBYTES == kTagOctets);

constexpr ClientMagic kResumeMagic = {'P', 'Q', 'R', 'e', 's', 'u', 'm', 'e'};
constexpr ClientMagic kRelayMagic = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

template <std::size_t N>
std::array<std::uint8_t, N> take_array(ByteReader& reader) {
  std::array<std::uint8_t, N> out{};
  std::ranges::copy(reader.take(N), out.begin());
  return out;
}

std::array<std::uint8_t, 2 * kHalfNonceOctets> whole_nonce(const HalfNonce& client,
                                                           const HalfNonce& resolver) {
  std::array<std::uint8_t, 2 * kHalfNonceOctets> nonce;
  std::ranges::copy(client, nonce.begin());
  std::ranges::copy(resolver, nonce.begin() + kHalfNonceOctets);
  return nonce;
}

std::optional<Bytes> unpadded(const std::optional<Bytes>& plaintext) {
  const auto message = plaintext ? unpad(*plaintext) : std::nullopt;
  if (!message) return std::nullopt;
  return to_bytes(*message);
}

}  // namespace

const char* to_string(EsVersion version) {
  switch (version) {
    case EsVersion::X25519XSalsa20Poly1305:
      return "X25519-XSalsa20Poly1305";
    case EsVersion::X25519XChaCha20Poly1305:
      return "X25519-XChaCha20Poly1305";
  }
  return "unknown construction";
}

bool is_allowed_client_magic(const ClientMagic& magic) {
  const bool quic =
      std::all_of(magic.begin(), magic.end() - 1, [](std::uint8_t octet) { return octet == 0; });
  return !quic && magic != kResumeMagic && magic != kRelayMagic && magic != kResolverMagic;
}

std::optional<SharedKey> SharedKey::derive(EsVersion version, const PublicKey& theirs, const KeyPair& ours) {
  initialise();
  SharedKey shared(version);
  const auto* secret = ours.secret_key.data();
  const int status =
      version == EsVersion::X25519XChaCha20Poly1305
          ? crypto_box_curve25519xchacha20poly1305_beforenm(shared.key_.data(), theirs.data(), secret)
          : crypto_box_beforenm(shared.key_.data(), theirs.data(), secret);
  if (status != 0) return std::nullopt;
  return shared;
}

Bytes SharedKey::seal(const HalfNonce& client, const HalfNonce& resolver, BytesView plaintext) const {
  const auto nonce = whole_nonce(client, resolver);
  Bytes box(kTagOctets + plaintext.size());
  if (version_ == EsVersion::X25519XChaCha20Poly1305) {
    crypto_box_curve25519xchacha20poly1305_easy_afternm(box.data(), plaintext.data(), plaintext.size(),
                                                        nonce.data(), key_.data());
  } else {
    crypto_box_easy_afternm(box.data(), plaintext.data(), plaintext.size(), nonce.data(), key_.data());
  }
  return box;
}

std::optional<Bytes> SharedKey::open(const HalfNonce& client, const HalfNonce& resolver,
                                     BytesView box) const {
  if (box.size() < kTagOctets) return std::nullopt;
  const auto nonce = whole_nonce(client, resolver);
  Bytes plaintext(box.size() - kTagOctets);
  const int status =
      version_ == EsVersion::X25519XChaCha20Poly1305
          ? crypto_box_curve25519xchacha20poly1305_open_easy_afternm(plaintext.data(), box.data(), box.size(),
                                                                     nonce.data(), key_.data())
          : crypto_box_open_easy_afternm(plaintext.data(), box.data(), box.size(), nonce.data(), key_.data());
  if (status != 0) return std::nullopt;
  return plaintext;
}

std::uint8_t SharedKey::padding_choice(const HalfNonce& client) const {
  std::array<std::uint8_t, crypto_generichash_BYTES_MIN> hash;
  crypto_generichash(hash.data(), hash.size(), client.data(), client.size(), key_.data(), kKeyOctets);
  return hash[0];
}

std::optional<QueryPacket> parse_query_packet(BytesView packet) {
  if (packet.size() <= kQueryOverheadOctets || packet.size() > kMaxQueryPacketOctets) return std::nullopt;
  ByteReader reader(packet);
  QueryPacket out;
  out.magic = take_array<kMagicOctets>(reader);
  out.client_key = take_array<kKeyOctets>(reader);
  out.nonce = take_array<kHalfNonceOctets>(reader);
  out.box = reader.rest();
  return out;
}

Bytes seal_query(const ClientMagic& magic, const PublicKey& client_key, const SharedKey& key,
                 const HalfNonce& nonce, BytesView padded) {
  ByteWriter out;
  out.append(magic);
  out.append(client_key);
  out.append(nonce);
  out.append(key.seal(nonce, HalfNonce{}, padded));
  return out.take();
}

std::optional<Bytes> open_query(const QueryPacket& packet, const SharedKey& key) {
  return unpadded(key.open(packet.nonce, HalfNonce{}, packet.box));
}

Bytes seal_response(const SharedKey& key, const HalfNonce& client_nonce, const HalfNonce& resolver_nonce,
                    BytesView padded) {
  ByteWriter out;
  out.append(kResolverMagic);
  out.append(client_nonce);
  out.append(resolver_nonce);
  out.append(key.seal(client_nonce, resolver_nonce, padded));
  return out.take();
}

HalfNonce make_resolver_nonce() {
  HalfNonce nonce;
  do {
    nonce = random_octets<kHalfNonceOctets>();
  } while (nonce == HalfNonce{});
  return nonce;
}

std::optional<HalfNonce> client_nonce_of_response(BytesView packet) {
  if (packet.size() <= kResponseOverheadOctets) return std::nullopt;
  ByteReader reader(packet);
  if (take_array<kMagicOctets>(reader) != kResolverMagic) return std::nullopt;
  return take_array<kHalfNonceOctets>(reader);
}

std::optional<Bytes> open_response(BytesView packet, const SharedKey& key) {
  const auto client_nonce = client_nonce_of_response(packet);
  if (!client_nonce) return std::nullopt;
  ByteReader reader(packet.subspan(kMagicOctets + kHalfNonceOctets));
  const auto resolver_nonce = take_array<kHalfNonceOctets>(reader);
  return unpadded(key.open(*client_nonce, resolver_nonce, reader.rest()));
}

}  // namespace doxlab::dnscrypt
