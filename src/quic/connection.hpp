#pragma once
/// One QUIC connection, client or server, over ngtcp2: datagrams and time in, datagrams and events out.
/// It owns no socket and no clock. DoQ and HTTP/3 stand on its streams; it knows neither.

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/address.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "quic/options.hpp"
#include "tls/context.hpp"

namespace doxlab::quic {

using StreamId = std::int64_t;

enum class CloseKind : std::uint8_t {
  Local,            ///< close() was called here
  PeerApplication,  ///< the peer's CONNECTION_CLOSE of type 0x1d; code in its application's space
  PeerTransport,    ///< CONNECTION_CLOSE 0x1c, TLS alerts included (0x100 + alert)
  IdleTimeout,
  HandshakeTimeout,
  ProtocolError,    ///< the peer broke a rule; this end sends CONNECTION_CLOSE
  VersionMismatch,  ///< Version Negotiation: the server does not speak Options::version
  StatelessReset,
  Refused,  ///< TLS failed here: certificate, ALPN, groups
};

/// The name of a transport error (RFC 9000 §20.1) with its code; for CRYPTO_ERROR the TLS alert's name.
std::string transport_error_text(std::uint64_t code);

struct HandshakeCompleted {
  tls::HandshakeInfo info;
};
/// In order, without gaps. `early`: came as 0-RTT before the handshake was done, so it may be a replay.
struct StreamData {
  StreamId id;
  Bytes data;
  bool fin;
  bool early = false;
};
struct StreamReset {
  StreamId id;
  std::uint64_t code;
};  ///< RESET_STREAM received
/// STOP_SENDING received. ngtcp2 answers it with RESET_STREAM by itself and tells only when the stream
/// dies or is written to next, so this comes up to a round trip late.
struct StopSending {
  StreamId id;
  std::uint64_t code;
};
struct StreamClosed {
  StreamId id;
};                           ///< both directions done; id is dead
struct StreamsAvailable {};  ///< the peer raised a stream limit
struct TicketReceived {
  tls::Ticket ticket;
  Bytes transport_parameters;
};
struct TokenReceived {
  Bytes token;
};                        ///< NEW_TOKEN (RFC 9000 §8.1.3)
struct RetryReceived {};  ///< client: the server sent a Retry
struct Closed {
  CloseKind kind;
  std::uint64_t code;
  std::string detail;
};  ///< last event of a connection
using Event = std::variant<HandshakeCompleted, StreamData, StreamReset, StopSending, StreamClosed,
                           StreamsAvailable, TicketReceived, TokenReceived, RetryReceived, Closed>;

/// What a client needs beside Options.
struct ClientParameters {
  std::string server_name;
  std::string alpn;
  SocketAddress local, remote;
  const tls::Ticket* ticket = nullptr;        ///< resumption; with early data if the context allows it
  BytesView remembered_transport_parameters;  ///< from TicketReceived; needed for 0-RTT
  BytesView token;                            ///< from TokenReceived; proves the address at once
  tls::KeyLog key_log;                        ///< of this connection alone
};

/// What ngtcp2 counts; QUIC packets, not datagrams.
struct Counters {
  std::uint64_t packets_sent = 0, packets_received = 0, packets_lost = 0, packets_discarded = 0;
  Duration smoothed_rtt{};
  std::uint64_t congestion_window_bytes = 0;
};

namespace internal {
class ConnectionState;
}

class Connection {
 public:
  /// A client connection; the ClientHello is in the first poll_datagram(). `context` outlives it.
  /// Errors: options that ngtcp2 or OpenSSL refuse.
  static Result<std::unique_ptr<Connection>> connect(const tls::ClientContext& context,
                                                     const Options& options,
                                                     const ClientParameters& parameters, Timestamp now);
  ~Connection();

  /// Feeds one datagram from `remote`. Anything wrong with it ends in a Closed event or is ignored, as
  /// RFC 9000 says; it never throws.
  void receive(const SocketAddress& local, const SocketAddress& remote, BytesView datagram, Timestamp now);
  void on_timeout(Timestamp now);
  std::optional<Timestamp> next_timeout() const;
  /// The next datagram to send to remote(); empty: nothing now. Call until empty after every other call.
  std::optional<Bytes> poll_datagram(Timestamp now);
  std::optional<Event> poll_event();

  /// Opens a stream. Empty: the peer's limit is reached; StreamsAvailable tells when to try again. A client
  /// with 0-RTT may open streams before the handshake is done.
  std::optional<StreamId> open_bidirectional();
  std::optional<StreamId> open_unidirectional();
  /// Queues bytes on a stream, kept until acknowledged. `fin` ends the sending side.
  void write(StreamId id, BytesView data, bool fin);
  /// Sends RESET_STREAM and/or STOP_SENDING with an application code.
  void reset(StreamId id, std::uint64_t code);
  void stop_sending(StreamId id, std::uint64_t code);
  /// Gives flow-control credit back for `count` bytes of StreamData that have been consumed.
  void consumed(StreamId id, std::size_t count);
  /// Sends CONNECTION_CLOSE of type 0x1d with an application code and enters the closing state.
  void close(std::uint64_t application_code, std::string_view reason, Timestamp now);

  /// Closed was emitted (or waits to be taken): nothing will arrive any more and writing has no effect. A
  /// last CONNECTION_CLOSE may still be in poll_datagram().
  bool is_closed() const;
  bool handshake_completed() const;
  SocketAddress remote() const;
  Counters counters() const;
  /// Bytes written on all streams that the peer has not acknowledged.
  std::uint64_t queued_bytes() const;

  /// For Endpoint, which makes server connections.
  explicit Connection(std::unique_ptr<internal::ConnectionState> state);

 private:
  std::unique_ptr<internal::ConnectionState> state_;
};

}  // namespace doxlab::quic
