#pragma once
/// QUIC packets as they stand in datagrams (RFC 8999, RFC 9000 §17, RFC 9369): headers before any key is
/// used, and the keys that remove the protection.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "dissect/handshake.hpp"
#include "dissect/protection.hpp"

namespace doxlab::dissect {

inline constexpr std::uint32_t kQuicVersion1 = 1, kQuicVersion2 = 0x6b3343cf;

enum class QuicPacketType : std::uint8_t {
  Initial,
  ZeroRtt,
  Handshake,
  Retry,
  VersionNegotiation,
  OneRtt,
  StatelessReset,
  UnknownVersion,  ///< a long header of a version that is not known here
};
/// "initial", "0-rtt", "handshake", "retry", "version negotiation", "1-rtt", "stateless reset", ...
std::string_view to_string(QuicPacketType type);
/// The epoch of its keys; Application for types without keys.
Epoch epoch_of(QuicPacketType type);

/// A run of octets; offsets count from the first octet of the IP header in results, of the datagram in
/// headers.
struct Span {
  std::uint32_t offset = 0, length = 0;
  std::uint32_t end() const { return offset + length; }
};

/// What can be read of a packet without keys.
struct QuicHeader {
  QuicPacketType type = QuicPacketType::OneRtt;
  std::uint32_t version = 0;  ///< 0 in short headers
  Span destination_id, source_id;
  Span token;                              ///< of an Initial, or the whole rest of a Retry but its tag
  std::uint32_t packet_number_offset = 0;  ///< where the protected part begins; Retry and the like: their end
  std::uint32_t length = 0;                ///< of the whole packet, from its first octet
};

/// Reads the packet at the front of `datagram`. `short_id_bytes`: octets of the connection ID in a short
/// header. Empty: malformed, or it runs past the end of the datagram.
std::optional<QuicHeader> read_quic_header(BytesView datagram, std::size_t short_id_bytes);
/// True if the first octet is that of a long header.
inline bool has_long_header(BytesView datagram) {
  return !datagram.empty() && (datagram[0] & 0x80) != 0;
}

/// True if the integrity tag of a Retry is the right one for the connection ID that the client chose first
/// (RFC 9001 §5.8, RFC 9369 §3.3.3).
bool is_retry_authentic(BytesView retry, std::uint32_t version, BytesView original_destination_id);

/// The keys of one direction of one packet protection level.
struct QuicKeys {
  /// `secret` with 32 octets for AES-128-GCM and ChaCha20-Poly1305, 48 for AES-256-GCM.
  QuicKeys(std::uint32_t version, Cipher cipher, BytesView secret);
  /// Keys for the next key phase, with the same header protection (RFC 9001 §6.1).
  QuicKeys updated() const;

  std::uint32_t version;
  Cipher cipher;
  Bytes secret;
  Bytes header_key;
  Aead aead;
  HeaderProtection header;
};
/// The secrets that Initial packets are protected with, of the client and of the server (RFC 9001 §5.2).
std::array<Bytes, 2> initial_secrets(std::uint32_t version, BytesView client_destination_id);

/// The first octet and the packet number, without protection.
struct PlainHeader {
  std::uint8_t first_octet = 0;
  std::uint8_t packet_number_bytes = 0;
  std::uint64_t packet_number = 0;
  bool key_phase() const { return (first_octet & 0x04) != 0; }
};
/// Takes the header protection off the packet at the front of `datagram`. `expected` is one more than the
/// highest packet number seen (RFC 9000 §A.3). Empty: too short for a sample.
std::optional<PlainHeader> unprotect_header(QuicKeys& keys, BytesView packet, const QuicHeader& header,
                                            std::uint64_t expected);
/// The frames of a packet; empty: it is not authentic under these keys.
std::optional<Bytes> open_packet(QuicKeys& keys, BytesView packet, const QuicHeader& header,
                                 const PlainHeader& plain);

}  // namespace doxlab::dissect
