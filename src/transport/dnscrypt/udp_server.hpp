#pragma once
/// The server side of DNSCrypt over UDP; see make_dnscrypt_server.

#include <deque>
#include <map>

#include "transport/dnscrypt/server_side.hpp"

namespace doxlab::transport {

class DnscryptUdpServer final : public DatagramServer {
 public:
  explicit DnscryptUdpServer(const DnscryptServerOptions& options);

  void receive(const SocketAddress& local, const SocketAddress& peer, BytesView datagram,
               Timestamp now) override;
  /// When the keys are to be rotated.
  std::optional<Timestamp> next_timeout() const override;
  void on_timeout(Timestamp now) override;
  std::optional<Output> poll_output(Timestamp now) override;
  std::optional<IncomingQuery> poll_query() override;
  /// An empty message ends the query without an answer.
  void answer(QueryHandle handle, BytesView message, Timestamp now) override;
  void close(Timestamp now) override;

  /// Datagrams that were neither a certificate query nor a query that opened.
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Waiting {
    SocketAddress peer;
    OpenedQuery query;           // its message is handed out, so empty
    std::size_t max_octets = 0;  // of the answer packet
    std::size_t max_message_octets = 0;
  };
  void forget_oldest();

  DnscryptServerOptions options_;
  DnscryptServerSide side_;
  std::map<QueryHandle, Waiting> waiting_;
  std::deque<IncomingQuery> queries_;
  std::deque<Output> output_;
  std::optional<Timestamp> rotation_due_;
  std::uint64_t last_handle_ = 0;
  std::uint64_t dropped_ = 0;
  bool closed_ = false;
};

}  // namespace doxlab::transport
