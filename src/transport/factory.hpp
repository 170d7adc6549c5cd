#pragma once
/// Makes the sessions of any transport from one set of options: everything that a measurement might vary.

#include <memory>
#include <string>

#include "quic/endpoint.hpp"
#include "tls/context.hpp"
#include "transport/dnscrypt/options.hpp"
#include "transport/session.hpp"
#include "transport/transport.hpp"

namespace doxlab::transport {

enum class HttpMethod : std::uint8_t { Post, Get };

/// What a client session may vary. Contexts are shared and outlive the sessions.
struct ClientOptions {
  std::shared_ptr<const tls::ClientContext> tls;  ///< transports with TLS; null for the others
  std::string server_name;                        ///< verified name or address, and HTTP :authority
  std::uint16_t port = 0;                         ///< for :authority; the default port is left out
  std::string doh_path = "/dns-query";
  HttpMethod method = HttpMethod::Post;
  quic::Options quic;
  SocketAddress local, remote;                    ///< QUIC paths; others ignore them
  DnscryptClientOptions dnscrypt;                 ///< DNSCrypt alone
  std::optional<TicketReceived> ticket;           ///< to resume with; DNSCrypt: the certificate that is known
  Bytes token;                                    ///< QUIC address validation token
  Duration do53_retransmission{};                 ///< Do53/UDP: send again after this; 0: never
  tls::KeyLog key_log;                            ///< secrets of this session, in the thread that runs it
};

/// Errors: options that the libraries refuse (for example an unknown group), DNSCrypt without a provider name.
Result<std::unique_ptr<ClientSession>> make_client_session(Transport transport, const ClientOptions& options,
                                                           Timestamp now);

/// Limits that keep a hostile client from costing more than its share.
struct ServerLimits {
  /// TCP accept to TLS finished. Longer than what loss may take: after a lost SYN the kernel's timeout is 3 s
  /// (RFC 6298 §5.7) and doubles, so that a ClientHello can be 9 s on its way and a client still wait for it.
  Duration handshake_timeout = 20s;
  Duration idle_timeout = 10s;             ///< RFC 7766 §6.2.3
  std::size_t queries_in_flight = 100;     ///< per connection; then it stops reading
  std::size_t queued_output_bytes = 1024 * 1024;  ///< per connection; over it, it is closed
};

struct ServerOptions {
  std::shared_ptr<const tls::ServerContext> tls;  ///< null: DoH in cleartext; the others with TLS need it
  std::string doh_path = "/dns-query";
  quic::EndpointOptions quic;
  DnscryptServerOptions dnscrypt;          ///< DNSCrypt needs `keys` and `clock`; its deadlines are those of `limits`
  std::size_t do53_max_udp_bytes = 1232;   ///< own cap on UDP answers (RFC 9715)
  ServerLimits limits;
};

/// `transport` must be a stream transport; `now` starts the handshake deadline.
std::unique_ptr<StreamServerSession> make_stream_server_session(Transport transport, const ServerOptions& options,
                                                                Timestamp now);
/// `transport` must be Do53, DNSCrypt, DoQ or DoH3.
std::unique_ptr<DatagramServer> make_datagram_server(Transport transport, const ServerOptions& options);

}  // namespace doxlab::transport
