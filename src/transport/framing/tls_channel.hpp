#pragma once
/// TLS records over TCP as what carries a stream.

#include <utility>

#include "tls/session.hpp"
#include "transport/framing/channel.hpp"

namespace doxlab::transport {

class TlsChannel final : public StreamChannel {
 public:
  explicit TlsChannel(tls::SslPtr ssl) : session_(std::move(ssl)) {}

  Result<void> start() override { return session_.start(); }
  Result<void> receive(BytesView input) override { return session_.receive(input); }
  Bytes take_plaintext() override { return session_.take_plaintext(); }
  bool plaintext_was_early() const override { return session_.plaintext_was_early(); }
  Result<void> write(BytesView plaintext) override { return session_.write(plaintext); }
  Bytes take_output() override { return session_.take_output(); }
  void close() override { session_.close(); }
  bool established() const override { return session_.handshake_done(); }
  bool peer_closed() const override { return session_.peer_closed(); }
  std::optional<tls::HandshakeInfo> handshake_info() const override { return session_.info(); }
  std::optional<tls::Ticket> take_ticket() override { return session_.take_ticket(); }

 private:
  tls::Session session_;
};

}  // namespace doxlab::transport
