#include "transport/dot/dot.hpp"

#include <stdexcept>
#include <utility>

#include "tls/session.hpp"
#include "transport/framing/stream_client.hpp"
#include "transport/framing/stream_server.hpp"

namespace doxlab::transport {
namespace {

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

}  // namespace

Result<std::unique_ptr<ClientSession>> make_dot_client(const ClientOptions& options) {
  if (!options.tls) return fail("DoT needs a TLS context");
  try {
    auto ssl = options.tls->new_ssl(options.server_name, std::string(alpn(Transport::Dot)),
                                    options.ticket ? &options.ticket->ticket : nullptr, options.key_log);
    return std::make_unique<StreamClient>(std::make_unique<TlsChannel>(std::move(ssl)));
  } catch (const std::runtime_error& error) {
    return fail(error.what());
  }
}

std::unique_ptr<StreamServerSession> make_dot_server_session(const ServerOptions& options, Timestamp now) {
  return std::make_unique<StreamServer>(std::make_unique<TlsChannel>(options.tls->new_ssl(false)), options.limits, now);
}

}  // namespace doxlab::transport
