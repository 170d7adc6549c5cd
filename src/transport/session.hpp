#pragma once
/// The contract that every transport follows. A session takes bytes and `now`, gives bytes and "wake me
/// at", and emits events. It owns no socket and no clock, so the same object runs over a kernel socket,
/// over the internet and in virtual time.
///
/// Stream transports (Do53/TCP, DoT, DoH) exchange runs of stream bytes; datagram transports exchange one
/// datagram a call. After any call, take poll_output() until it is empty, then poll_event() until empty.

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/address.hpp"
#include "base/bytes.hpp"
#include "base/time.hpp"
#include "tls/options.hpp"

namespace doxlab::transport {

/// Names a query within its session (client) or its listener (server); never used twice.
struct QueryHandle {
  std::uint64_t value = 0;
  auto operator<=>(const QueryHandle&) const = default;
};

/// The encrypted channel is up (not emitted by Do53).
struct HandshakeCompleted {
  tls::HandshakeInfo info;
  bool retry = false;  ///< QUIC: the server asked for address validation
};
/// A whole DNS message that answers `query`, with the ID that was submitted.
struct ResponseReceived {
  QueryHandle query;
  Bytes message;
};
/// This query cannot be answered any more (stream reset, HTTP status, connection gone); others go on.
struct QueryFailed {
  QueryHandle query;
  std::string reason;
};
/// For resumption: the ticket, and for QUIC the transport parameters that 0-RTT needs.
struct TicketReceived {
  tls::Ticket ticket;
  Bytes transport_parameters;
};
/// For address validation of a later connection (QUIC NEW_TOKEN).
struct TokenReceived {
  Bytes token;
};
/// The last event of a session. `clean`: both ends were done; else `reason` says what broke.
struct Closed {
  bool clean = false;
  std::string reason;
  bool refused = false;  ///< nothing listens there: RST to a SYN, or ICMP port unreachable
};
using Event = std::variant<HandshakeCompleted, ResponseReceived, QueryFailed, TicketReceived, TokenReceived, Closed>;

class ClientSession {
 public:
  virtual ~ClientSession() = default;

  /// Queues a query: a DNS message in wire form with any ID. Many may be in flight. Submitted before
  /// start(), it goes as early data where that is enabled and possible.
  virtual QueryHandle submit(BytesView query) = 0;
  /// Begins: datagram transports and TCP Fast Open before anything was received, other stream transports
  /// once the TCP connection is established.
  virtual void start(Timestamp now) = 0;
  virtual void receive(BytesView input, Timestamp now) = 0;
  /// Stream transports: the peer sent FIN. Datagram transports never get it.
  virtual void receive_end(Timestamp now) = 0;
  virtual std::optional<Timestamp> next_timeout() const = 0;
  virtual void on_timeout(Timestamp now) = 0;
  /// Bytes to send; empty: nothing now.
  virtual std::optional<Bytes> poll_output(Timestamp now) = 0;
  virtual std::optional<Event> poll_event() = 0;
  /// Ends in the protocol's way (close_notify, GOAWAY, CONNECTION_CLOSE). Queries in flight fail.
  virtual void close(Timestamp now) = 0;
};

/// A query as the server side hands it to whoever answers.
struct IncomingQuery {
  QueryHandle handle;
  Bytes message;
  bool early_data = false;  ///< arrived as 0-RTT, so it may be a replay (RFC 9250 §4.5, RFC 8470)
};

/// The server side of one connection of a stream transport.
class StreamServerSession {
 public:
  virtual ~StreamServerSession() = default;
  virtual void receive(BytesView input, Timestamp now) = 0;
  virtual void receive_end(Timestamp now) = 0;
  virtual std::optional<Timestamp> next_timeout() const = 0;
  virtual void on_timeout(Timestamp now) = 0;
  virtual std::optional<Bytes> poll_output(Timestamp now) = 0;
  virtual std::optional<IncomingQuery> poll_query() = 0;
  /// Queues the answer. A handle whose stream has died meanwhile is ignored.
  virtual void answer(QueryHandle handle, BytesView message, Timestamp now) = 0;
  /// True once nothing will be sent or read any more: the socket can be shut down.
  virtual bool is_closed() const = 0;
  virtual void close(Timestamp now) = 0;
};

/// The server side of one UDP port of a datagram transport: all its clients.
class DatagramServer {
 public:
  struct Output {
    SocketAddress peer;
    Bytes payload;
  };
  virtual ~DatagramServer() = default;
  virtual void receive(const SocketAddress& local, const SocketAddress& peer, BytesView datagram, Timestamp now) = 0;
  virtual std::optional<Timestamp> next_timeout() const = 0;
  virtual void on_timeout(Timestamp now) = 0;
  virtual std::optional<Output> poll_output(Timestamp now) = 0;
  virtual std::optional<IncomingQuery> poll_query() = 0;
  virtual void answer(QueryHandle handle, BytesView message, Timestamp now) = 0;
  virtual void close(Timestamp now) = 0;
};

}  // namespace doxlab::transport
