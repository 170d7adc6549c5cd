#pragma once
/// DNSCrypt v2 over UDP and TCP (draft-denis-dprive-dnscrypt-11). A cold client asks for the provider's
/// certificates in plain DNS (one round trip), then sends its encrypted query (one more); a client that knows
/// a certificate needs one round trip in all.

#include <memory>

#include "transport/dnscrypt/options.hpp"
#include "transport/session.hpp"

namespace doxlab::transport {

/// For a socket that is connected to one server. Events:
/// - HandshakeCompleted when a certificate is accepted, so the fetch ends there: version "DNSCrypt v2",
///   cipher "X25519-XChaCha20Poly1305" or "X25519-XSalsa20Poly1305", `resumed` if it was known before.
/// - TicketReceived: a certificate that was fetched, in wire form in `session_der`.
/// - ResponseReceived. UDP: with TC where the answer did not fit into the query's size; to ask again over
///   TCP is the caller's business.
/// - Closed with a reason: no certificate that the server offers is usable.
///
/// What does not verify is dropped. TCP carries one query (§5.4.4), on the same connection as the certificate
/// fetch if there is one; Closed follows its answer, and further queries fail.
///
/// Errors: a provider name that is none, no es_versions, a query size that is not a multiple of 64.
Result<std::unique_ptr<ClientSession>> make_dnscrypt_client(const DnscryptClientOptions& options, bool tcp,
                                                            Timestamp now);

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
