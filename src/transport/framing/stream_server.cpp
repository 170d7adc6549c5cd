#include "transport/framing/stream_server.hpp"

#include <utility>

#include "dns/scan.hpp"

namespace doxlab::transport {
namespace {

// Room for what a few reads of a socket bring while earlier queries are held back.
constexpr std::size_t kMaxWaitingOctets = 256 * 1024;

}  // namespace

StreamServer::StreamServer(std::unique_ptr<StreamChannel> channel, const ServerLimits& limits, Timestamp now)
    : channel_(std::move(channel)), limits_(limits), reader_(kMaxWaitingOctets), accepted_(now), last_activity_(now),
      last_call_(now), was_established_(channel_->established()) {}

void StreamServer::receive(BytesView input, Timestamp now) {
  last_call_ = now;
  if (!reading_) return;
  const auto received = channel_->receive(input);
  if (!was_established_ && channel_->established()) {
    was_established_ = true;
    last_activity_ = now;
  }
  const Bytes plaintext = channel_->take_plaintext();
  const bool fits = reader_.feed(plaintext);
  if (channel_->plaintext_was_early()) early_end_ = reader_.consumed() + reader_.buffered();
  if (!received || !fits) {
    close(now);
    return;
  }
  if (channel_->peer_closed()) reading_ = false;
  const Bytes output = channel_->take_output();
  output_.insert(output_.end(), output.begin(), output.end());
  finish_if_done();
}

void StreamServer::receive_end(Timestamp now) {
  last_call_ = now;
  reading_ = false;
  finish_if_done();
}

bool StreamServer::may_take_query() const {
  // Half of the cap is room for the answers of those that are in flight.
  return !closing_ && in_flight_.size() < limits_.queries_in_flight &&
         output_.size() <= limits_.queued_output_bytes / 2;
}

std::optional<IncomingQuery> StreamServer::poll_query() {
  while (may_take_query()) {
    const std::size_t begins_at = reader_.consumed();
    auto message = reader_.next();
    if (!message) break;
    const auto header = dns::read_header(*message);
    if (!header) {
      close(last_call_);
      break;
    }
    if (header->has(dns::kFlagResponse)) continue;
    last_activity_ = last_call_;
    const QueryHandle handle{++last_handle_};
    in_flight_.insert(handle);
    return IncomingQuery{handle, std::move(*message), begins_at < early_end_};
  }
  finish_if_done();
  return std::nullopt;
}

void StreamServer::answer(QueryHandle handle, BytesView message, Timestamp now) {
  last_call_ = now;
  if (in_flight_.erase(handle) == 0) return;
  last_activity_ = now;
  if (!message.empty() && message.size() <= kMaxMessageOctets) {
    const auto written = channel_->write(frame(message));
    const Bytes output = channel_->take_output();
    output_.insert(output_.end(), output.begin(), output.end());
    if (!written || output_.size() > limits_.queued_output_bytes) {
      close(now);
      return;
    }
  }
  finish_if_done();
}

// The client will ask no more and has all its answers.
void StreamServer::finish_if_done() {
  if (!reading_ && !closing_ && in_flight_.empty() && !reader_.has_message()) close(last_call_);
}

std::optional<Timestamp> StreamServer::next_timeout() const {
  if (closing_) return std::nullopt;
  if (may_take_query() && reader_.has_message()) return last_call_;
  if (!channel_->established()) return accepted_ + limits_.handshake_timeout;
  if (in_flight_.empty()) return last_activity_ + limits_.idle_timeout;
  return std::nullopt;
}

void StreamServer::on_timeout(Timestamp now) {
  last_call_ = now;
  if (closing_) return;
  const bool late = channel_->established()
                        ? in_flight_.empty() && !reader_.has_message() && now >= last_activity_ + limits_.idle_timeout
                        : now >= accepted_ + limits_.handshake_timeout;
  if (late) close(now);
}

std::optional<Bytes> StreamServer::poll_output(Timestamp now) {
  last_call_ = now;
  if (output_.empty()) return std::nullopt;
  return std::exchange(output_, {});
}

void StreamServer::close(Timestamp now) {
  last_call_ = now;
  if (closing_) return;
  reading_ = false;
  closing_ = true;
  in_flight_.clear();
  channel_->close();
  const Bytes output = channel_->take_output();
  output_.insert(output_.end(), output.begin(), output.end());
}

}  // namespace doxlab::transport
