#pragma once
/// Contexts: what many sessions share (trust anchors, certificate, groups, ticket keys). Loading a trust
/// store is expensive, so it is done here, once, outside what is measured.

#include <memory>
#include <openssl/ssl.h>

#include "base/error.hpp"
#include "tls/options.hpp"

namespace doxlab::tls {

struct SslDeleter {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslPtr = std::unique_ptr<SSL, SslDeleter>;

/// The client side of TLS 1.3. Threads may share it. Constructor errors: std::runtime_error with the reason.
class ClientContext {
 public:
  explicit ClientContext(ClientOptions options);
  ~ClientContext();
  ClientContext(const ClientContext&) = delete;
  ClientContext& operator=(const ClientContext&) = delete;

  /// A new SSL in connect state without BIOs or QUIC callbacks. `server_name` is a DNS name (sent as SNI
  /// and verified, RFC 9525) or an IP address (verified against iPAddress, not sent). `alpn` empty: none.
  /// A ticket makes it resume and, with ClientOptions::early_data, ready for 0-RTT.
  SslPtr new_ssl(const std::string& server_name, const std::string& alpn, const Ticket* ticket) const;

  const ClientOptions& options() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The server side of TLS 1.3: certificate, groups, ALPN, ticket keys (made at random, kept for life).
class ServerContext {
 public:
  explicit ServerContext(ServerOptions options);
  ~ServerContext();
  ServerContext(const ServerContext&) = delete;
  ServerContext& operator=(const ServerContext&) = delete;

  /// A new SSL in accept state without BIOs or QUIC callbacks. `for_quic`: a ClientHello without the
  /// quic_transport_parameters extension is refused with missing_extension (RFC 9001 §8.2).
  SslPtr new_ssl(bool for_quic) const;

  const ServerOptions& options() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What a handshake turned out to be; call once it has finished.
HandshakeInfo handshake_info(SSL* ssl);

/// Why a handshake or read failed: OpenSSL's error queue as one sentence, and for a failed verification
/// the X.509 reason and the name that was expected. Empties the queue.
std::string last_error(SSL* ssl);

/// The fatal alert that was sent or received, as its RFC 8446 name, if any. For reports and tests.
std::string verify_error(SSL* ssl);

/// Takes the newest ticket that the SSL has received since the last call, if any (client).
std::optional<Ticket> take_ticket(SSL* ssl);

}  // namespace doxlab::tls
