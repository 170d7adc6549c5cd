#pragma once
/// The server side of one UDP port: tells connections apart by connection ID, answers unknown versions
/// with Version Negotiation, validates addresses with Retry and NEW_TOKEN, and resets what it does not
/// know. It owns no socket and no clock.

#include <functional>
#include <memory>
#include <optional>

#include "quic/connection.hpp"

namespace doxlab::quic {

struct EndpointOptions {
  Options connection;
  RetryPolicy retry = RetryPolicy::Off;
  bool send_new_token = true;
  std::size_t max_connections = 20000;  ///< further Initials are answered CONNECTION_REFUSED
  std::size_t max_half_open = 5000;     ///< handshakes not completed; more: Retry whatever the policy
};

struct Datagram {
  SocketAddress peer;
  Bytes payload;
};

/// A key that is never used twice in an endpoint's life.
using ConnectionKey = std::uint64_t;

class Endpoint {
 public:
  /// `context` outlives the endpoint and its connections.
  Endpoint(const tls::ServerContext& context, EndpointOptions options);
  ~Endpoint();

  void receive(const SocketAddress& local, const SocketAddress& peer, BytesView datagram, Timestamp now);
  void on_timeout(Timestamp now);
  std::optional<Timestamp> next_timeout() const;
  std::optional<Datagram> poll_datagram(Timestamp now);

  /// A connection that has events waiting, or was closed; empty: none. The application polls the
  /// connection's events with the key; a connection dies once its Closed event was taken and its closing
  /// or draining period is over.
  std::optional<ConnectionKey> poll_ready();
  Connection* find(ConnectionKey key);
  /// Tells the endpoint that the application wrote to a connection, so that poll_datagram() visits it.
  void touch(ConnectionKey key);
  /// Those in their closing or draining period count too.
  std::size_t connections() const;
  /// Closes every connection (application code, no error) for a clean end.
  void close_all(std::uint64_t application_code, Timestamp now);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace doxlab::quic
