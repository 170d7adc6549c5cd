#pragma once
/// One lookup: a question through one transport to one server, with its outcome and the times of its
/// phases. A cold lookup opens its own connection and closes it.

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "io/client_pump.hpp"
#include "transport/factory.hpp"

namespace doxlab::client {

enum class Outcome : std::uint8_t { Answered, TimedOut, Refused, HandshakeFailed, Failed };
std::string_view to_string(Outcome o);  // "answered", "timed out", "refused", "handshake failed", "failed"

struct LookupOptions {
  Transport transport = Transport::Do53;
  SocketAddress server;
  transport::ClientOptions session;      ///< `local` and `remote` are filled in here
  io::SocketOptions socket;
  Duration timeout = 15s;                ///< start to answer; then the outcome is TimedOut
  bool tcp_fallback = true;              ///< Do53, DNSCrypt: the same query over TCP when TC is set (RFC 7766 §5)
  Duration linger = 200ms;               ///< how long the socket stays after the answer
  /// Not cold: a first query opens the connection, outside of the measurement; the measured one follows on
  /// it after a pause of this length, in which acknowledgements and tickets pass. 0: a cold lookup.
  Duration reuse_after{};
};

struct LookupResult {
  Outcome outcome = Outcome::Failed;
  std::string reason;                    ///< a sentence; empty if answered
  Bytes response;                        ///< with the ID of the query
  Timestamp started;                     ///< before anything was made or sent; reused: before the measured query
  std::optional<Timestamp> connected;    ///< TCP established
  std::optional<Timestamp> secured;      ///< TLS or QUIC handshake completed here; DNSCrypt: certificate accepted
  std::optional<Timestamp> answered;     ///< the whole answer was parsed from the transport
  std::optional<tls::HandshakeInfo> handshake;
  bool quic_retry = false;
  bool used_tcp_fallback = false;
  std::optional<transport::TicketReceived> ticket;  ///< arrived before the answer
  Bytes token;
};

using LookupHandler = std::function<void(LookupResult&&)>;

/// Starts a lookup in the io_context's thread. `done` is called exactly once, later. The fallback to TCP
/// binds the same local address and port number as the UDP socket, if `socket.bind` gave one.
void start_lookup(asio::io_context& context, const LookupOptions& options, BytesView query, LookupHandler done);

/// Runs one lookup to its end in a fresh io_context, closing included. For `doxlab query` and tests.
LookupResult lookup(const LookupOptions& options, BytesView query);

}  // namespace doxlab::client
