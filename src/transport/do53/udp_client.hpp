#pragma once
/// The client session of Do53/UDP; see make_do53_client.

#include <deque>

#include "transport/framing/open_queries.hpp"
#include "transport/session.hpp"

namespace doxlab::transport {

class UdpClient final : public ClientSession {
 public:
  /// `retransmission` 0: never send again.
  explicit UdpClient(Duration retransmission) : retransmission_(retransmission) {}

  QueryHandle submit(BytesView query) override;
  void start(Timestamp now) override;
  void receive(BytesView datagram, Timestamp now) override;
  void receive_end(Timestamp) override {}
  std::optional<Timestamp> next_timeout() const override;
  void on_timeout(Timestamp now) override;
  std::optional<Bytes> poll_output(Timestamp now) override;
  std::optional<Event> poll_event() override;
  void close(Timestamp now) override;

  /// Datagrams that answered no open query.
  std::uint64_t dropped() const { return queries_.dropped(); }

 private:
  struct Sent {
    std::uint16_t id = 0;
    QueryHandle handle;  // IDs come back, handles do not
    Timestamp due;
  };
  bool is_open(const Sent& sent) const;

  Duration retransmission_;
  OpenQueries queries_;
  std::deque<std::uint16_t> unsent_;  // IDs
  std::deque<Sent> sent_;             // in order of due, since the interval is one and the same
  std::deque<Event> events_;
  bool started_ = false;
  bool closed_ = false;
};

}  // namespace doxlab::transport
