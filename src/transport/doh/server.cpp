#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "http/h2.hpp"
#include "transport/doh/doh.hpp"
#include "transport/doh/exchange.hpp"
#include "transport/framing/tls_channel.hpp"

namespace doxlab::transport {
namespace {

/// From the first GOAWAY to the end, whatever is still open.
constexpr Duration kDrainTime = 5s;

std::unique_ptr<StreamChannel> make_channel(const ServerOptions& options) {
  if (!options.tls) return std::make_unique<PlainChannel>();
  return std::make_unique<TlsChannel>(options.tls->new_ssl(false));
}

class DohServer final : public StreamServerSession {
 public:
  DohServer(const ServerOptions& options, Timestamp now)
      : path_(options.doh_path),
        limits_(options.limits),
        channel_(make_channel(options)),
        http_(http_limits(options.limits)),
        accepted_(now),
        last_activity_(now) {}

  void receive(BytesView input, Timestamp now) override {
    if (!reading_ || closing_) return;
    const auto received = channel_->receive(input);
    if (!was_established_ && channel_->established()) {
      was_established_ = true;
      last_activity_ = now;
    }
    const Bytes plaintext = channel_->take_plaintext();
    http_.receive(plaintext);
    if (channel_->plaintext_was_early()) last_early_request_ = http_.last_request();
    take_requests(now);
    if (!received) {
      end();
    } else if (channel_->peer_closed()) {
      receive_end(now);
    }
  }

  void receive_end(Timestamp) override {
    reading_ = false;
    finish_if_done();
  }

  std::optional<Timestamp> next_timeout() const override {
    if (closing_) return std::nullopt;
    if (!channel_->established()) return accepted_ + limits_.handshake_timeout;
    std::optional<Timestamp> due;
    if (in_flight_.empty()) due = last_activity_ + limits_.idle_timeout;
    if (drain_deadline_) due = std::min(due.value_or(*drain_deadline_), *drain_deadline_);
    return due;
  }

  void on_timeout(Timestamp now) override {
    if (closing_) return;
    if (!channel_->established()) {
      if (now >= accepted_ + limits_.handshake_timeout) end();
      return;
    }
    // An answer that the client does not take for that long (window 0) does not keep the connection busy.
    const bool idle = in_flight_.empty() && now >= last_activity_ + limits_.idle_timeout;
    if (idle || (drain_deadline_ && now >= *drain_deadline_)) {
      http_.close();
      http_.close();  // again: without waiting for streams that are open
      pass_on();
    }
  }

  std::optional<Bytes> poll_output(Timestamp) override {
    pass_on();
    finish_if_done();
    const Bytes records = channel_->take_output();
    output_.insert(output_.end(), records.begin(), records.end());
    if (output_.empty()) return std::nullopt;
    return std::exchange(output_, {});
  }

  std::optional<IncomingQuery> poll_query() override {
    while (!queries_.empty()) {
      IncomingQuery query = std::move(queries_.front());
      queries_.pop_front();
      if (!closing_ && http_.is_open(query.handle.value)) return query;
      in_flight_.erase(query.handle);  // cancelled before anyone looked at it
    }
    return std::nullopt;
  }

  void answer(QueryHandle handle, BytesView message, Timestamp now) override {
    if (in_flight_.erase(handle) == 0) return;
    last_activity_ = now;
    http_.respond(handle.value, make_doh_response(message));
    finish_if_done();
  }

  bool is_closed() const override { return closing_ && output_.empty(); }

  void close(Timestamp now) override {
    if (closing_) return;
    if (!channel_->established()) return end();
    http_.close();
    if (!drain_deadline_) drain_deadline_ = now + kDrainTime;
    pass_on();
  }

 private:
  void take_requests(Timestamp now) {
    while (auto incoming = http_.poll_request()) {
      last_activity_ = now;
      const bool early = incoming->id <= last_early_request_;
      auto query = read_doh_query(incoming->request, path_, early);
      if (!query) {
        http_.respond(incoming->id, query.error());
        continue;
      }
      const QueryHandle handle{incoming->id};
      in_flight_.insert(handle);
      queries_.push_back({handle, std::move(*query), early});
    }
  }

  /// Frames go to the channel only when they can leave: then what was written meanwhile shares one record.
  void pass_on() {
    if (closing_ || (!channel_->established() && last_early_request_ == 0)) return;
    const Bytes frames = http_.take_output();
    if (!frames.empty() && !channel_->write(frames)) return end();
    if (http_.is_closed()) end();
  }

  /// The client will ask no more and has all its answers.
  void finish_if_done() {
    std::erase_if(in_flight_, [this](QueryHandle handle) { return !http_.is_open(handle.value); });
    if (reading_ || closing_ || !in_flight_.empty()) return;
    pass_on();
    end();
  }

  void end() {
    if (closing_) return;
    closing_ = true;
    reading_ = false;
    in_flight_.clear();
    queries_.clear();
    channel_->close();
    output_ = channel_->take_output();
  }

  std::string path_;
  ServerLimits limits_;
  std::unique_ptr<StreamChannel> channel_;
  http::H2Server http_;
  std::deque<IncomingQuery> queries_;
  std::set<QueryHandle> in_flight_;  ///< a handle is its request's ID
  Bytes output_;
  http::RequestId last_early_request_ = 0;  ///< requests up to this began as 0-RTT
  Timestamp accepted_, last_activity_;
  std::optional<Timestamp> drain_deadline_;
  bool was_established_ = false;
  bool reading_ = true;
  bool closing_ = false;  ///< only output is left to go
};

}  // namespace

std::unique_ptr<StreamServerSession> make_doh_server_session(const ServerOptions& options, Timestamp now) {
  return std::make_unique<DohServer>(options, now);
}

}  // namespace doxlab::transport
