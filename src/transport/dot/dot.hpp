#pragma once
/// DoT: DNS over TLS (RFC 7858, RFC 8310): the framed messages of Do53/TCP inside TLS 1.3 records.

#include <memory>

#include "transport/factory.hpp"
#include "transport/session.hpp"

namespace doxlab::transport {

/// Verifies `server_name`, offers ALPN "dot", resumes with `ticket`. Queries submitted before start() leave as
/// early data where the context and the ticket allow it. Errors: no context, a name OpenSSL refuses.
Result<std::unique_ptr<ClientSession>> make_dot_client(const ClientOptions& options);

/// One connection. `now` starts the handshake deadline. See StreamServer for the other limits. Errors:
/// std::runtime_error without memory; the caller guarantees a context.
std::unique_ptr<StreamServerSession> make_dot_server_session(const ServerOptions& options, Timestamp now);

}  // namespace doxlab::transport
