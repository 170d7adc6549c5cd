#pragma once
/// The server side of one connection of DNS over a stream of framed messages (RFC 7766): pipelined queries,
/// answers in any order, half-close, and limits on everything that a client can make it hold.

#include <memory>
#include <set>

#include "transport/factory.hpp"
#include "transport/framing/channel.hpp"
#include "transport/framing/framing.hpp"
#include "transport/session.hpp"

namespace doxlab::transport {

/// Closes the connection itself when a message is too short for a header, when the handshake or the next whole
/// query takes too long, and when a limit is exceeded. Messages with QR set get no answer.
class StreamServer final : public StreamServerSession {
 public:
  StreamServer(std::unique_ptr<StreamChannel> channel, const ServerLimits& limits, Timestamp now);

  void receive(BytesView input, Timestamp now) override;
  /// Queries that have arrived are still answered.
  void receive_end(Timestamp now) override;
  std::optional<Timestamp> next_timeout() const override;
  void on_timeout(Timestamp now) override;
  std::optional<Bytes> poll_output(Timestamp now) override;
  /// Holds queries back while too many are in flight or too much output waits; next_timeout() is then due at
  /// once when they can go on, so that nobody need ask again without cause.
  std::optional<IncomingQuery> poll_query() override;
  /// An empty message ends the query without an answer.
  void answer(QueryHandle handle, BytesView message, Timestamp now) override;
  bool is_closed() const override { return closing_ && output_.empty(); }
  void close(Timestamp now) override;

 private:
  bool may_take_query() const;
  void finish_if_done();

  std::unique_ptr<StreamChannel> channel_;
  ServerLimits limits_;
  MessageReader reader_;
  Bytes output_;
  std::set<QueryHandle> in_flight_;
  std::uint64_t last_handle_ = 0;
  std::size_t early_end_ = 0;   // offset in the plaintext stream where 0-RTT ended
  Timestamp accepted_, last_activity_, last_call_;
  bool was_established_;
  bool reading_ = true;
  bool closing_ = false;        // only output is left to go
};

}  // namespace doxlab::transport
