#pragma once
/// What a TLS endpoint may vary, and what a handshake turned out to be. Used by every encrypted
/// transport and by QUIC; says nothing of sockets.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.hpp"
#include "base/bytes.hpp"

namespace doxlab::tls {

/// Receives one line of the NSS key log format without line end, for each secret of each session.
using KeyLog = std::function<void(std::string_view line)>;

enum class CertificateCompression : std::uint8_t { Zlib, Zstd };  // RFC 8879; what this OpenSSL was built with

/// The default group list, in OpenSSL's syntax: in order of preference, `*` before a group that gets a
/// key share in the first ClientHello. Both the hybrid and X25519 get one, so that a server that lacks
/// ML-KEM costs 36 bytes and not a HelloRetryRequest.
inline constexpr const char* kDefaultGroups = "*X25519MLKEM768:*X25519:secp256r1:secp384r1";

struct ClientOptions {
  std::string groups = kDefaultGroups;
  std::string roots_pem;              ///< trust anchors; empty: the system's store
  bool verify = true;                 ///< chain, dates and name; false must be asked for explicitly
  bool early_data = false;            ///< send 0-RTT when a ticket allows it
  std::vector<CertificateCompression> certificate_compression;  ///< offered in this order
  KeyLog key_log;
};

struct ServerOptions {
  std::string groups = kDefaultGroups;
  std::string chain_pem;              ///< leaf first; the root is not sent
  std::string key_pem;
  std::vector<std::string> alpn;      ///< accepted, in order of preference; no overlap: no_application_protocol
  bool alpn_required = true;          ///< false: a client without ALPN is accepted (DoT, RFC 7858)
  std::size_t tickets = 1;            ///< NewSessionTicket messages after a full handshake; 0: no resumption
  std::uint32_t max_early_data_bytes = 0;  ///< 0: 0-RTT refused; QUIC uses 0xffffffff (RFC 9001 §4.6.1)
  /// False: stateless tickets, which any number of connections may use, also for 0-RTT (a replay is possible,
  /// so the layer above must accept only queries that may be repeated, RFC 9250 §4.5). True: OpenSSL keeps the
  /// sessions and takes each ticket once (RFC 8446 §8.1).
  bool single_use_tickets = false;
  std::vector<CertificateCompression> certificate_compression;  ///< used if the client offers it
  KeyLog key_log;
};

enum class EarlyData : std::uint8_t { NotOffered, Accepted, Rejected };

/// How a finished handshake went.
struct HandshakeInfo {
  std::string version;      ///< "TLSv1.3"
  std::string group;        ///< IANA name, for example "X25519MLKEM768"; empty for PSK without (EC)DHE
  std::string cipher;       ///< for example "TLS_AES_128_GCM_SHA256"
  std::string alpn;         ///< empty if none was negotiated
  bool resumed = false;
  bool hello_retry_request = false;
  EarlyData early_data = EarlyData::NotOffered;
  std::size_t peer_certificate_bytes = 0;  ///< DER bytes of the chain that the server sent; 0 if resumed
};

/// What a client keeps to resume: the session in OpenSSL's DER form (with the ticket and its ALPN).
struct Ticket {
  Bytes session_der;
  std::uint32_t max_early_data_bytes = 0;
};

}  // namespace doxlab::tls
