#include "transport/dnscrypt/udp_server.hpp"

#include <algorithm>

#include "transport/do53/udp_server.hpp"

namespace doxlab::transport {
namespace {

constexpr std::size_t kCertificateAnswerOctets = 512;  // what any DNS client takes (RFC 1035 §4.2.1)

}  // namespace

DnscryptUdpServer::DnscryptUdpServer(const DnscryptServerOptions& options)
    : options_(options),
      side_(options, options.shared_keys),
      rotation_due_(side_.maintain(options.clock.at)) {}

void DnscryptUdpServer::receive(const SocketAddress&, const SocketAddress& peer, BytesView datagram,
                                Timestamp now) {
  if (closed_) return;
  if (rotation_due_ <= now) on_timeout(now);
  if (auto query = side_.open(datagram, now)) {
    if (waiting_.size() >= std::max<std::size_t>(options_.queries_waiting, 1)) forget_oldest();
    const QueryHandle handle{++last_handle_};
    Bytes message = std::move(query->message);
    const auto limit = udp_limit_of(message);
    // Never more octets out than came in (§5.4.6).
    waiting_[handle] = {peer, std::move(*query), std::min(datagram.size(), options_.max_udp_octets), limit};
    queries_.push_back({handle, std::move(message), false});
    return;
  }
  // The EDNS size of an unproven sender is no leave to send that much (§5.5).
  const auto allowance = options_.bounded_certificate_answers ? 0 : kCertificateAnswerOctets;
  const auto limit = std::min(std::max(datagram.size(), allowance), options_.max_udp_octets);
  if (auto certificates = side_.answer_certificate_query(datagram, limit, now)) {
    output_.push_back({peer, std::move(*certificates)});
  } else {
    ++dropped_;
  }
}

/// Under a flood the oldest query that nobody has answered gives way: its client has most likely stopped
/// waiting.
void DnscryptUdpServer::forget_oldest() {
  const QueryHandle oldest = waiting_.begin()->first;
  if (!queries_.empty() && queries_.front().handle == oldest) queries_.pop_front();
  waiting_.erase(waiting_.begin());
}

std::optional<Timestamp> DnscryptUdpServer::next_timeout() const {
  return closed_ ? std::nullopt : rotation_due_;
}

void DnscryptUdpServer::on_timeout(Timestamp now) {
  if (!closed_) rotation_due_ = side_.maintain(now);
}

std::optional<IncomingQuery> DnscryptUdpServer::poll_query() {
  if (queries_.empty()) return std::nullopt;
  IncomingQuery query = std::move(queries_.front());
  queries_.pop_front();
  return query;
}

void DnscryptUdpServer::answer(QueryHandle handle, BytesView message, Timestamp) {
  const auto found = waiting_.find(handle);
  if (found == waiting_.end()) return;
  const Waiting& to = found->second;
  auto packet =
      message.empty() ? std::nullopt : side_.seal(to.query, message, to.max_octets, to.max_message_octets);
  if (packet) output_.push_back({to.peer, std::move(*packet)});
  waiting_.erase(found);
}

std::optional<DatagramServer::Output> DnscryptUdpServer::poll_output(Timestamp) {
  if (output_.empty()) return std::nullopt;
  Output output = std::move(output_.front());
  output_.pop_front();
  return output;
}

void DnscryptUdpServer::close(Timestamp) {
  closed_ = true;
  waiting_.clear();
  queries_.clear();
}

}  // namespace doxlab::transport
