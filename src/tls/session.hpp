#pragma once
/// TLS over bytes in memory: records in, records out, plaintext between. It owns no socket and no clock.
/// DoT and DoH over HTTP/2 stand on it; QUIC does not (it uses the handshake without records).

#include <optional>

#include "tls/context.hpp"

namespace doxlab::tls {

class Session {
 public:
  /// Takes an SSL from ClientContext::new_ssl or ServerContext::new_ssl.
  explicit Session(SslPtr ssl);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Client: begins the handshake, so that take_output() has the ClientHello (and early data written before).
  Result<void> start();

  /// Feeds records from the peer; any cut is fine. Errors: a fatal alert or a failed verification; the
  /// alert to send is then in take_output().
  Result<void> receive(BytesView records);

  /// Plaintext that has arrived since the last call.
  Bytes take_plaintext();
  /// True if (some of) the plaintext of the last take_plaintext() came as 0-RTT (server).
  bool plaintext_was_early() const;

  /// Encrypts plaintext, in records of its own. Before the handshake is done it goes as early data where that was offered and
  /// fits, else it waits. Rejected early data is sent again by itself after the handshake (RFC 8446 §4.2.10).
  Result<void> write(BytesView plaintext);

  /// Records for the peer.
  Bytes take_output();

  /// Sends close_notify (RFC 8446 §6.1); nothing can be written afterwards.
  void close();

  bool handshake_done() const;
  /// The peer sent close_notify.
  bool peer_closed() const;
  HandshakeInfo info() const;
  std::optional<Ticket> take_ticket();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace doxlab::tls
