#pragma once
/// Contexts: what many sessions share (trust anchors, certificate, groups, ticket keys). Loading a trust
/// store is expensive, so it is done here, once, outside what is measured.

#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "tls/options.hpp"

namespace doxlab::tls {

struct SslDeleter {
  void operator()(SSL* ssl) const {
    // Without this OpenSSL would forget the tickets of connections that ended without close_notify, as those
    // of QUIC do (it matters for ServerOptions::single_use_tickets).
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(ssl);
  }
};
using SslPtr = std::unique_ptr<SSL, SslDeleter>;

/// The client side of TLS 1.3. Threads may share it; the key log is then called by one at a time. An SSL may
/// outlive it. Constructor errors: std::runtime_error with the reason.
class ClientContext {
 public:
  explicit ClientContext(ClientOptions options);
  ~ClientContext();
  ClientContext(const ClientContext&) = delete;
  ClientContext& operator=(const ClientContext&) = delete;

  /// A new SSL in connect state without BIOs or QUIC callbacks. `server_name` is a DNS name (sent as SNI
  /// and verified, RFC 9525) or an IP address (verified against iPAddress, not sent). `alpn` empty: none.
  /// A ticket makes it resume; one that was issued for another name is not used. Whether 0-RTT may be sent
  /// with it: early_data_ready(). Over records tls::Session does the rest; over QUIC the caller calls
  /// SSL_set_quic_tls_early_data_enabled once its callbacks are set (OpenSSL refuses it earlier).
  /// Errors, as std::runtime_error: an ALPN protocol of more than 255 octets, memory.
  /// `key_log` gets the secrets of this session alone, in the thread that uses it.
  SslPtr new_ssl(const std::string& server_name, const std::string& alpn, const Ticket* ticket,
                 const KeyLog& key_log = {}) const;

  const ClientOptions& options() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The server side of TLS 1.3, shared and outlived like the client's: certificate, groups, ALPN, ticket keys (made at random, kept for life).
class ServerContext {
 public:
  explicit ServerContext(ServerOptions options);
  ~ServerContext();
  ServerContext(const ServerContext&) = delete;
  ServerContext& operator=(const ServerContext&) = delete;

  /// A new SSL in accept state without BIOs or QUIC callbacks. `for_quic`: a ClientHello without the
  /// quic_transport_parameters extension is refused with missing_extension (RFC 9001 §8.2).
  SslPtr new_ssl(bool for_quic) const;

  /// False: handshakes from now on reject 0-RTT although its tickets allow it, as a server does whose keys have
  /// changed or that saw a replay (RFC 8446 §4.2.10). Any thread may call it.
  void accept_early_data(bool accept) const;

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

/// The fatal alert that was sent or received, as its RFC 8446 name such as "no_application_protocol";
/// empty if there was none. For reports and tests.
std::string alert_name(SSL* ssl);
/// The name of an alert description (RFC 8446 §6), such as "no_application_protocol".
std::string alert_name(int alert);

/// True if this client SSL resumes with a ticket that allows 0-RTT for its ALPN protocol and the
/// options of its context ask for it.
bool early_data_ready(SSL* ssl);

/// Takes the newest ticket that the SSL has received since the last call, if any (client).
std::optional<Ticket> take_ticket(SSL* ssl);

}  // namespace doxlab::tls
