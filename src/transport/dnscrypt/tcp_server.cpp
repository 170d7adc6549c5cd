#include "transport/dnscrypt/tcp_server.hpp"

#include <utility>

namespace doxlab::transport {
namespace {

constexpr QueryHandle kOnlyQuery{1};

// Room for a certificate query and the longest encrypted one, each with its length.
constexpr std::size_t kMaxWaitingOctets = 2 * (dnscrypt::kMaxQueryPacketOctets + kLengthPrefixOctets);

// A client needs one; a second after it saw none that it likes is polite enough.
constexpr std::size_t kMaxCertificateQueries = 4;

}  // namespace

DnscryptTcpServer::DnscryptTcpServer(const DnscryptServerOptions& options, Timestamp now)
    : options_(options),
      side_(options, 0),
      reader_(kMaxWaitingOctets),
      deadline_(now + options.first_message_timeout) {
  side_.maintain(now);
}

void DnscryptTcpServer::receive(BytesView input, Timestamp now) {
  if (!reading_) return;
  if (!reader_.feed(input)) {
    close(now);
    return;
  }
  while (reading_) {
    const auto message = reader_.next();
    if (!message) return;
    receive_message(*message, now);
  }
}

void DnscryptTcpServer::receive_message(BytesView message, Timestamp now) {
  deadline_ = now + options_.idle_timeout;
  if (auto query = side_.open(message, now)) {
    reading_ = false;  // one transaction for each connection (§5.4.4)
    incoming_ = IncomingQuery{kOnlyQuery, std::move(query->message), false};
    query_ = std::move(*query);
    return;
  }
  const auto certificates = certificate_queries_ < kMaxCertificateQueries
                                ? side_.answer_certificate_query(message, kMaxMessageOctets, now)
                                : std::nullopt;
  if (!certificates) {
    close(now);
    return;
  }
  ++certificate_queries_;
  send(*certificates);
}

void DnscryptTcpServer::send(BytesView message) {
  const Bytes framed = frame(message);
  output_.insert(output_.end(), framed.begin(), framed.end());
}

void DnscryptTcpServer::receive_end(Timestamp now) {
  reading_ = false;
  if (!query_) close(now);
}

std::optional<Timestamp> DnscryptTcpServer::next_timeout() const {
  return closing_ ? std::nullopt : std::optional(deadline_);
}

void DnscryptTcpServer::on_timeout(Timestamp now) {
  if (now >= deadline_) close(now);
}

std::optional<Bytes> DnscryptTcpServer::poll_output(Timestamp) {
  if (output_.empty()) return std::nullopt;
  return std::exchange(output_, {});
}

std::optional<IncomingQuery> DnscryptTcpServer::poll_query() {
  return std::exchange(incoming_, std::nullopt);
}

void DnscryptTcpServer::answer(QueryHandle handle, BytesView message, Timestamp now) {
  if (handle != kOnlyQuery || !query_) return;
  const auto packet = message.empty()
                          ? std::nullopt
                          : side_.seal(*query_, message, options_.max_tcp_octets, kMaxMessageOctets);
  if (packet) send(*packet);
  close(now);
}

void DnscryptTcpServer::close(Timestamp) {
  reading_ = false;
  closing_ = true;
  query_.reset();
  incoming_.reset();
}

}  // namespace doxlab::transport
