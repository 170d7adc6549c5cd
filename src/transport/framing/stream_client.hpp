#pragma once
/// The client side of DNS over a stream of framed messages (RFC 7766): many queries in flight, answers in any
/// order. What the stream runs in is the channel's business.

#include <deque>
#include <memory>
#include <string>

#include "transport/framing/channel.hpp"
#include "transport/framing/framing.hpp"
#include "transport/framing/open_queries.hpp"
#include "transport/session.hpp"

namespace doxlab::transport {

class StreamClient final : public ClientSession {
 public:
  explicit StreamClient(std::unique_ptr<StreamChannel> channel) : channel_(std::move(channel)) {}

  QueryHandle submit(BytesView query) override;
  void start(Timestamp now) override;
  void receive(BytesView input, Timestamp now) override;
  /// Queries that are open then fail. Without them the end is clean, also without TLS close_notify.
  void receive_end(Timestamp now) override;
  /// None: how long to wait for an answer is the caller's decision.
  std::optional<Timestamp> next_timeout() const override { return std::nullopt; }
  void on_timeout(Timestamp) override {}
  std::optional<Bytes> poll_output(Timestamp now) override;
  std::optional<Event> poll_event() override;
  void close(Timestamp now) override;

  /// Messages that answered no open query.
  std::uint64_t dropped() const { return queries_.dropped(); }

 private:
  void announce();
  void end(std::string query_reason, Closed closed);
  void end_by_peer(bool said_goodbye);

  std::unique_ptr<StreamChannel> channel_;
  OpenQueries queries_;
  MessageReader reader_;
  std::deque<Event> events_;
  bool started_ = false;
  bool announced_ = false;  // HandshakeCompleted is out, or there is none
  bool ended_ = false;
};

}  // namespace doxlab::transport
