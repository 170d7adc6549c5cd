#pragma once
/// DoH3: DNS over HTTPS (RFC 8484) on HTTP/3 (RFC 9114) over QUIC. The same exchanges as DoH, each on a
/// stream of its own.

#include <memory>

#include "transport/factory.hpp"
#include "transport/session.hpp"

namespace doxlab::transport {

/// The ClientHello is made at once but leaves with start(). Queries submitted before start() leave as early
/// data where the context and the ticket allow it. Errors: options that QUIC or TLS refuse.
Result<std::unique_ptr<ClientSession>> make_doh3_client(const ClientOptions& options, Timestamp now);

/// Errors: std::runtime_error for options that QUIC refuses.
std::unique_ptr<DatagramServer> make_doh3_server(const ServerOptions& options);

/// Unidirectional streams that either end grants the other: control and two for QPACK (RFC 9114 §6.2), and
/// some for the reserved types that clients open to keep servers tolerant (§6.2.3).
inline constexpr std::uint64_t kDoh3UnidirectionalStreams = 8;

}  // namespace doxlab::transport
