#pragma once
/// DoH: DNS over HTTPS (RFC 8484) on HTTP/2 inside TLS 1.3. Every query is a request of its own; message ID 0
/// on the wire, so that equal queries look equal to an HTTP cache (§4.1).

#include <memory>

#include "transport/factory.hpp"
#include "transport/session.hpp"

namespace doxlab::transport {

/// Verifies `server_name`, offers ALPN "h2", resumes with `ticket`. What is submitted before start() leaves
/// as early data where the context and the ticket allow it; else preface, SETTINGS and requests leave with
/// the Finished. Errors: no context, a name OpenSSL refuses.
Result<std::unique_ptr<ClientSession>> make_doh_client(const ClientOptions& options, Timestamp now);

/// One connection. `now` starts the handshake deadline. ALPN is the context's to enforce; a client that
/// speaks HTTP/1 regardless gets GOAWAY. Requests that are no DNS queries are answered here with their
/// status. Without a TLS context the connection is HTTP/2
/// in cleartext with prior knowledge (RFC 9113 §3.3), for a proxy in front that ends TLS.
/// Errors: std::runtime_error without memory.
std::unique_ptr<StreamServerSession> make_doh_server_session(const ServerOptions& options, Timestamp now);

}  // namespace doxlab::transport
