#pragma once
/// DNSCrypt v2 over UDP and TCP (draft-denis-dprive-dnscrypt-11). A cold client asks for the provider's
/// certificates in plain DNS (one round trip), then sends its encrypted query (one more); a client that knows
/// a certificate needs one round trip in all.

#include <memory>
#include <string>
#include <vector>

#include "dnscrypt/certificate.hpp"
#include "dnscrypt/resolver_keys.hpp"
#include "transport/factory.hpp"
#include "transport/session.hpp"

namespace doxlab::transport {

/// Unix time for sessions, which own no clock: what it was at one Timestamp.
struct UnixClock {
  dnscrypt::UnixSeconds seconds = 0;
  Timestamp at;

  /// Whole seconds; before `at` as well.
  dnscrypt::UnixSeconds at_time(Timestamp now) const;
};

struct DnscryptClientOptions {
  std::string provider_name;  ///< for example "2.dnscrypt-cert.example.com"
  dnscrypt::PublicKey provider_key{};
  UnixClock clock;
  /// In wire form, from an earlier session's TicketReceived; it must verify and be valid, else it is as if
  /// empty.
  Bytes known_certificate;
  /// Constructions that are accepted, the preferred one first.
  std::vector<dnscrypt::EsVersion> es_versions = {dnscrypt::EsVersion::X25519XChaCha20Poly1305,
                                                  dnscrypt::EsVersion::X25519XSalsa20Poly1305};
  /// UDP: least octets of a padded query, a multiple of 64. After a truncated answer the session adds 64, as
  /// long as the packet stays within 1232 octets.
  std::size_t min_query_octets = 256;
  Duration retransmission{};  ///< UDP: send again after this, and each time it has passed; 0: never
  Duration certificate_refresh =
      1h;  ///< then the certificates are asked for again, beside the queries (§5.5)
  bool certificate_query_edns =
      false;  ///< an OPT record in the certificate query, for answers above 512 octets
};

/// For a socket that is connected to one server.
///
/// Events: HandshakeCompleted when a certificate is accepted, so the fetch ends there: version "DNSCrypt v2",
/// cipher "X25519-XChaCha20Poly1305" or "X25519-XSalsa20Poly1305", `resumed` if the certificate was known. A
/// fetched certificate follows as TicketReceived, in wire form in `session_der`. UDP: answers carry TC where
/// they did not fit into the query's size; to ask again over TCP is the caller's business. What does not
/// verify is dropped. TCP: one query (draft §5.4.4), on the same connection as the certificate fetch if there
/// is one; after the answer comes Closed. Further queries fail. Closed with a reason: no offered certificate
/// is usable. Errors: a provider name that is none, no es_versions, a query size that is not a multiple
/// of 64.
Result<std::unique_ptr<ClientSession>> make_dnscrypt_client(const DnscryptClientOptions& options, bool tcp,
                                                            Timestamp now);

struct DnscryptServerOptions {
  std::shared_ptr<dnscrypt::ResolverKeys> keys;  ///< shared by the UDP and TCP sides
  UnixClock clock;
  std::size_t max_udp_octets = 1232;  ///< own cap on datagrams, beside the query's size
  std::size_t max_tcp_octets = dnscrypt::kMaxTcpResponsePacketOctets;
  bool varied_padding = false;           ///< answers: up to three further blocks of 64, from key and nonce
  std::size_t shared_keys = 4096;        ///< UDP: keys of recent clients kept to save the X25519
  std::size_t queries_waiting = 16'384;  ///< UDP: without an answer; then the oldest is forgotten
  std::uint32_t certificate_ttl = 3600;  ///< seconds
  ServerLimits limits;                   ///< TCP: handshake_timeout for the first message, idle_timeout
};

/// One UDP port. Certificate queries are answered in plain; all else that is not an encrypted query that
/// opens and holds a DNS query is dropped without a word. An answer that would be longer than its query (or
/// exceed what the client takes) leaves truncated with TC set, inside the encryption. Rotates the keys when
/// that is due.
std::unique_ptr<DatagramServer> make_dnscrypt_server(const DnscryptServerOptions& options);

/// One TCP connection: certificate queries, then one encrypted query, then it closes. It closes at once on
/// what UDP would drop. Answers above max_tcp_octets leave truncated.
std::unique_ptr<StreamServerSession> make_dnscrypt_tcp_server_session(const DnscryptServerOptions& options,
                                                                      Timestamp now);

}  // namespace doxlab::transport
