#pragma once
/// The server side of one TCP connection of DNSCrypt; see make_dnscrypt_tcp_server_session.

#include <optional>

#include "transport/dnscrypt/server_side.hpp"
#include "transport/framing/framing.hpp"

namespace doxlab::transport {

class DnscryptTcpServer final : public StreamServerSession {
 public:
  DnscryptTcpServer(const DnscryptServerOptions& options, Timestamp now);

  void receive(BytesView input, Timestamp now) override;
  /// A query that has arrived is still answered.
  void receive_end(Timestamp now) override;
  std::optional<Timestamp> next_timeout() const override;
  void on_timeout(Timestamp now) override;
  std::optional<Bytes> poll_output(Timestamp now) override;
  std::optional<IncomingQuery> poll_query() override;
  /// An empty message ends the connection without an answer.
  void answer(QueryHandle handle, BytesView message, Timestamp now) override;
  bool is_closed() const override { return closing_ && output_.empty(); }
  void close(Timestamp now) override;

 private:
  void receive_message(BytesView message, Timestamp now);
  void send(BytesView message);

  DnscryptServerOptions options_;
  DnscryptServerSide side_;
  MessageReader reader_;
  Bytes output_;
  std::optional<OpenedQuery> query_;       // until it is answered
  std::optional<IncomingQuery> incoming_;  // until it is polled
  std::size_t certificate_queries_ = 0;
  Timestamp deadline_;
  bool reading_ = true, closing_ = false;
};

}  // namespace doxlab::transport
