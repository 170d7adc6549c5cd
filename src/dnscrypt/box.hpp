#pragma once
/// The encrypted messages of DNSCrypt and the key that two ends share. Sections are those of
/// draft-denis-dprive-dnscrypt-11.
///
///   query:    client magic (8) | client public key (32) | client nonce (12) | tag (16) | padded message
///   response: resolver magic (8) | client nonce (12) | resolver nonce (12) | tag (16) | padded message

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.hpp"
#include "dnscrypt/keys.hpp"

namespace doxlab::dnscrypt {

/// The construction that a certificate asks for (es-version).
enum class EsVersion : std::uint16_t {
  X25519XSalsa20Poly1305 = 1,   ///< of earlier revisions; still offered by resolvers
  X25519XChaCha20Poly1305 = 2,  ///< §5.5
};
/// "X25519-XChaCha20Poly1305".
const char* to_string(EsVersion version);

inline constexpr std::size_t kMagicOctets = 8;
inline constexpr std::size_t kHalfNonceOctets = 12;
inline constexpr std::size_t kTagOctets = 16;
inline constexpr std::size_t kQueryOverheadOctets = kMagicOctets + kKeyOctets + kHalfNonceOctets + kTagOctets;
inline constexpr std::size_t kResponseOverheadOctets = kMagicOctets + 2 * kHalfNonceOctets + kTagOctets;
/// A whole encrypted query has at most this many octets, over UDP and TCP (§5.2).
inline constexpr std::size_t kMaxQueryPacketOctets = 4096;
/// A whole encrypted response over TCP stays below 4096 octets: clients in use refuse longer ones (§5.4.7).
inline constexpr std::size_t kMaxTcpResponsePacketOctets = 4095;

using ClientMagic = std::array<std::uint8_t, kMagicOctets>;
using HalfNonce = std::array<std::uint8_t, kHalfNonceOctets>;

inline constexpr ClientMagic kResolverMagic = {0x72, 0x36, 0x66, 0x6e, 0x76, 0x57, 0x6a, 0x38};

/// False for values that a certificate must not use: seven zero octets in front (QUIC), the magic of resumed
/// post-quantum queries (§11.7), eight octets 0xff (relayed queries, §10.2), and the resolver magic.
bool is_allowed_client_magic(const ClientMagic& magic);

/// What X25519 and the construction's hash make of one end's secret and the other's public key.
class SharedKey {
 public:
  /// nullopt: the public key is of low order (all zero included), so the secret would be no secret.
  static std::optional<SharedKey> derive(EsVersion version, const PublicKey& theirs, const KeyPair& ours);

  EsVersion version() const { return version_; }
  /// Tag and ciphertext.
  Bytes seal(const HalfNonce& client, const HalfNonce& resolver, BytesView plaintext) const;
  /// The plaintext; nullopt: shorter than a tag, or the tag does not fit.
  std::optional<Bytes> open(const HalfNonce& client, const HalfNonce& resolver, BytesView box) const;
  /// Eight bits that follow from key and nonce alone, so that a repeated query gets the same padding
  /// (§5.4.5).
  std::uint8_t padding_choice(const HalfNonce& client) const;
  /// For tests against other computations of the same key.
  BytesView octets() const { return key_.view(); }

 private:
  explicit SharedKey(EsVersion version) : version_(version) {}
  EsVersion version_;
  Secret<kKeyOctets> key_;
};

/// The parts of an encrypted query. `box` borrows from the packet.
struct QueryPacket {
  ClientMagic magic{};
  PublicKey client_key{};
  HalfNonce nonce{};
  BytesView box;
};
/// nullopt: not longer than the overhead, or longer than 4096 octets.
std::optional<QueryPacket> parse_query_packet(BytesView packet);

/// A query packet. `padded` is a padded DNS message; the resolver's half of the nonce is zero (§4).
Bytes seal_query(const ClientMagic& magic, const PublicKey& client_key, const SharedKey& key,
                 const HalfNonce& nonce, BytesView padded);
/// The DNS message without padding; nullopt: wrong tag or bad padding, which look the same to the sender.
std::optional<Bytes> open_query(const QueryPacket& packet, const SharedKey& key);

/// A response packet. `resolver_nonce` must not be all zero (§4).
Bytes seal_response(const SharedKey& key, const HalfNonce& client_nonce, const HalfNonce& resolver_nonce,
                    BytesView padded);
/// Random, not all zero.
HalfNonce make_resolver_nonce();
/// The client nonce that a packet claims to answer; nullopt: no response packet.
std::optional<HalfNonce> client_nonce_of_response(BytesView packet);
/// The DNS message without padding; nullopt: no response packet, wrong tag or bad padding.
std::optional<Bytes> open_response(BytesView packet, const SharedKey& key);

}  // namespace doxlab::dnscrypt
