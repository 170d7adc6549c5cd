#pragma once
/// DNS over dedicated QUIC connections (RFC 9250): each query on a bidirectional stream of its own, a
/// 2-octet length in front of each message, message ID 0 on the wire.

#include <memory>

#include "transport/factory.hpp"

namespace doxlab::transport {

/// Application error codes (RFC 9250 §4.3). Unknown codes of a peer mean Unspecified.
enum class DoqError : std::uint64_t {
  NoError = 0,
  InternalError = 1,
  ProtocolError = 2,
  RequestCancelled = 3,
  ExcessiveLoad = 4,
  Unspecified = 5,
};

/// "DOQ_PROTOCOL_ERROR" and so on.
std::string to_string(DoqError error);
DoqError doq_error_from(std::uint64_t code);

/// What goes on the wire for a message of at most 65,535 octets: its length, then the message with ID 0.
Bytes doq_frame(BytesView message);

/// The ClientHello is made at once but leaves with start(). Errors: options that QUIC or TLS refuse.
Result<std::unique_ptr<ClientSession>> make_doq_client(const ClientOptions& options, Timestamp now);

/// Errors: std::runtime_error for options that QUIC refuses.
std::unique_ptr<DatagramServer> make_doq_server(const ServerOptions& options);

}  // namespace doxlab::transport
