#include "transport/dot/dot.hpp"

#include <stdexcept>
#include <utility>

#include "transport/framing/stream_client.hpp"
#include "transport/framing/stream_server.hpp"
#include "transport/framing/tls_channel.hpp"

namespace doxlab::transport {

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
