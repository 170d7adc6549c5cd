#pragma once
/// The server side of Do53/UDP; see make_do53_server.

#include <deque>
#include <map>

#include "transport/session.hpp"

namespace doxlab::transport {

/// `answer` cut to its header, its question and its OPT record, with TC set. What cannot be parsed so far is
/// left out too. For answers that do not fit into a datagram (RFC 2181 §9, RFC 6891 §7).
Bytes truncated(BytesView answer);

/// The largest UDP answer that the sender of `query` takes: its EDNS size (RFC 6891 §6.2.3), 512 at least and
/// without EDNS.
std::size_t udp_limit_of(BytesView query);

class UdpServer final : public DatagramServer {
 public:
  explicit UdpServer(std::size_t max_udp_bytes) : max_udp_bytes_(max_udp_bytes) {}

  void receive(const SocketAddress& local, const SocketAddress& peer, BytesView datagram, Timestamp now) override;
  std::optional<Timestamp> next_timeout() const override { return std::nullopt; }
  void on_timeout(Timestamp) override {}
  std::optional<Output> poll_output(Timestamp now) override;
  std::optional<IncomingQuery> poll_query() override;
  /// An empty message ends the query without an answer.
  void answer(QueryHandle handle, BytesView message, Timestamp now) override;
  void close(Timestamp now) override;

 private:
  struct Client {
    SocketAddress address;
    std::size_t limit = 0;
  };

  std::size_t max_udp_bytes_;
  std::map<QueryHandle, Client> waiting_;
  std::deque<IncomingQuery> queries_;
  std::deque<Output> output_;
  std::uint64_t last_handle_ = 0;
  bool closed_ = false;
};

}  // namespace doxlab::transport
