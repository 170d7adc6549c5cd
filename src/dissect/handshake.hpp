#pragma once
/// TLS handshake messages (RFC 8446 §4) where they stand in a stream: the content of TLS records or of QUIC's
/// CRYPTO frames. A message is cut into parts that lie side by side from its first octet to its last, so that
/// key shares, certificates and tickets can be counted by themselves.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "dissect/carrier.hpp"
#include "dissect/key_log.hpp"

namespace doxlab::dissect {

/// Under which keys something travelled. Of QUIC's packets: Initial, 0-RTT, Handshake, 1-RTT.
enum class Epoch : std::uint8_t { Initial, Early, Handshake, Application };
std::string_view to_string(Epoch epoch);  // "initial", "0-rtt", "handshake", "application"

enum class HandshakeType : std::uint8_t {
  ClientHello = 1,
  ServerHello = 2,  ///< also a HelloRetryRequest
  NewSessionTicket = 4,
  EndOfEarlyData = 5,
  EncryptedExtensions = 8,
  Certificate = 11,
  ServerKeyExchange = 12,  ///< TLS 1.2
  CertificateRequest = 13,
  ServerHelloDone = 14,  ///< TLS 1.2
  CertificateVerify = 15,
  ClientKeyExchange = 16,  ///< TLS 1.2
  Finished = 20,
  CertificateStatus = 22,  ///< TLS 1.2
  KeyUpdate = 24,
  CompressedCertificate = 25,  ///< RFC 8879
};
/// "ClientHello" and so on.
std::string_view to_string(HandshakeType type);

enum class PartKind : std::uint8_t {
  Header,     ///< type and length, 4 octets
  Fields,     ///< fixed fields and lengths
  Random,     ///< 32 octets
  SessionId,  ///< with its length octet
  CipherSuites,
  Extension,              ///< `code`: its type; with type and length, 4 octets
  Certificate,            ///< DER with its length, 3 octets; `code`: place in the chain from 0
  CertificateExtensions,  ///< of the same entry, with their length
  CompressedCertificate,  ///< `code`: algorithm (RFC 8879 §3)
  Signature,              ///< `code`: SignatureScheme
  VerifyData,
  Ticket,  ///< with its length, 2 octets
  Body,    ///< what is not taken apart
};
std::string_view to_string(PartKind kind);

struct HandshakePart {
  PartKind kind = PartKind::Body;
  std::uint16_t code = 0;
  std::uint32_t offset = 0;  ///< from the first octet of the message
  std::uint32_t length = 0;
};

struct HandshakeMessage {
  Carrier carrier;
  Epoch epoch = Epoch::Initial;
  HandshakeType type = HandshakeType::ClientHello;
  bool is_hello_retry_request = false;
  bool is_complete = false;         ///< false: the capture lacks some of it; then it has one part, a Body
  std::uint64_t stream_offset = 0;  ///< in its stream: of its epoch in QUIC, of its direction over records
  std::uint32_t length = 0;         ///< with the 4 octets of header
  std::vector<HandshakePart> parts;

  /// The octets of an extension with its header; 0: it is not there.
  std::uint32_t extension_bytes(std::uint16_t type) const;
};

/// The message that begins at `at`. `stream` is what is at hand of the stream from its start. Empty: fewer
/// than 4 octets, or nothing that a handshake may have. Carrier and epoch are the caller's.
std::optional<HandshakeMessage> read_handshake_message(BytesView stream, std::uint64_t at);

/// Names the octets of a message in its stream, those before `limit`.
void add_to_layout(Layout& layout, const HandshakeMessage& message, std::uint32_t index,
                   std::uint64_t limit = ~std::uint64_t{0});

/// Extension types (IANA) that dissections look into.
enum ExtensionType : std::uint16_t {
  kServerName = 0,
  kSupportedGroups = 10,
  kAlpn = 16,
  kCompressCertificate = 27,
  kPreSharedKey = 41,
  kEarlyData = 42,
  kSupportedVersions = 43,
  kCookie = 44,
  kKeyShare = 51,
  kQuicTransportParameters = 57,
};

/// One key share: a group by its IANA number and the octets of its key exchange without headers.
struct KeyShare {
  std::uint16_t group = 0;
  std::uint32_t key_bytes = 0;
  bool operator==(const KeyShare&) const = default;
};

/// What a ClientHello, a ServerHello or EncryptedExtensions says.
struct HelloContent {
  TlsRandom random{};
  std::vector<std::uint16_t> cipher_suites;  ///< offered; of a server the one chosen
  std::vector<std::uint16_t> groups;         ///< supported_groups in order
  std::vector<KeyShare> key_shares;          ///< of a HelloRetryRequest the group asked for, 0 octets
  std::vector<std::uint16_t> versions;       ///< supported_versions; of a server the one chosen
  std::vector<std::string> alpn;
  std::string server_name;
  bool has_psk = false;
  bool has_early_data = false;
  Bytes transport_parameters;  ///< of QUIC, as they are (RFC 9000 §18)
};
/// Reads a whole message of one of these three types; what is malformed in it is left out.
HelloContent read_hello(const HandshakeMessage& message, BytesView octets);

/// What the hellos of one handshake said.
struct Hellos {
  std::optional<HelloContent> client;  ///< the last ClientHello: the second after a HelloRetryRequest
  std::optional<HelloContent> server;
  std::optional<HelloContent> encrypted_extensions;
  bool has_hello_retry_request = false;
  bool offered_early_data = false;  ///< in the first ClientHello; a second one never does

  /// Takes any message; `octets` are its own.
  void note(const HandshakeMessage& message, BytesView octets);
  /// The protocol that the server chose, or the only one that the client offers; empty: not known.
  std::string alpn() const;
  /// False also where the server's answer was not seen.
  bool accepts_early_data() const { return encrypted_extensions && encrypted_extensions->has_early_data; }
};

/// Reads the messages of a stream from its start, as far as it is at hand; names their octets in `layout` and
/// appends them to `messages`.
void read_handshake_stream(BytesView stream, const Carrier& carrier, Epoch epoch, Layout& layout,
                           std::vector<HandshakeMessage>& messages, Hellos& hellos);

}  // namespace doxlab::dissect
