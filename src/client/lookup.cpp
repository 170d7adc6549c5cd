#include "client/lookup.hpp"

#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <format>

#include "dns/message.hpp"

namespace doxlab::client {
namespace {

class LookupTask : public std::enable_shared_from_this<LookupTask> {
 public:
  LookupTask(asio::io_context& context, const LookupOptions& options, BytesView query, LookupHandler done)
      : context_(context), deadline_(context), pause_(context), options_(options), query_(to_bytes(query)), done_(std::move(done)) {}

  void begin() {
    result_.started = monotonic_now();
    start_deadline();
    opening_ = options_.reuse_after > Duration{};
    open(options_.transport);
  }

 private:
  void open(Transport t) {
    transport_ = t;
    auto session_options = options_.session;
    session_options.remote = options_.server;
    session_options.local = options_.socket.bind.value_or(SocketAddress{});
    // Over TCP a DNSCrypt client uses the certificate that it has learned over UDP.
    if (result_.used_tcp_fallback && result_.ticket) session_options.ticket = result_.ticket;
    auto session = transport::make_client_session(t, session_options, monotonic_now());
    if (!session) {
      asio::post(context_, [self = shared_from_this(), reason = session.error().message] {
        self->finish(Outcome::Failed, reason);
      });
      return;
    }
    (*session)->submit(query_);  // before start, so that it can go as early data
    io::PumpCallbacks callbacks;
    callbacks.on_connected = [self = shared_from_this()](Timestamp at) { self->result_.connected = at; };
    callbacks.on_event = [self = shared_from_this()](transport::Event&& event, Timestamp at) {
      std::visit([&](auto& e) { self->on(e, at); }, event);
    };
    pump_ = io::ClientPump::open(context_, is_stream(t), std::move(*session), options_.server, options_.socket,
                                 std::move(callbacks));
  }

  void on(transport::HandshakeCompleted& event, Timestamp at) {
    if (result_.used_tcp_fallback && result_.secured) return;  // DNSCrypt: by the certificate of before
    result_.secured = at;
    result_.handshake = std::move(event.info);
    result_.quic_retry = event.retry;
  }

  void on(transport::ResponseReceived& event, Timestamp at) {
    const auto over_tcp = options_.tcp_fallback ? tcp_fallback(transport_) : std::nullopt;
    if (over_tcp && dns::is_truncated(event.message)) {
      // The partial answer is not used (RFC 7766 §5).
      result_.used_tcp_fallback = true;
      pump_->close(options_.linger);
      open(*over_tcp);
      return;
    }
    if (std::exchange(opening_, false)) {
      ask_again();
      return;
    }
    result_.answered = at;
    result_.response = std::move(event.message);
    finish(Outcome::Answered, "");
  }

  /// The connection is open: after the pause the measured query goes out on it.
  void ask_again() {
    deadline_.cancel();
    pause_.expires_after(options_.reuse_after);
    pause_.async_wait([self = shared_from_this()](const std::error_code& cancelled) {
      if (cancelled || !self->done_) return;
      self->reused_ = true;
      self->result_.started = monotonic_now();
      self->start_deadline();
      self->pump_->submit(self->query_);
    });
  }

  void start_deadline() {
    deadline_.expires_at(result_.started + options_.timeout);
    deadline_.async_wait([self = shared_from_this()](const std::error_code& cancelled) {
      if (!cancelled) self->finish(Outcome::TimedOut, self->timeout_reason());
    });
  }

  void on(transport::QueryFailed& event, Timestamp) { finish(failure(), std::move(event.reason)); }

  void on(transport::TicketReceived& event, Timestamp) { result_.ticket = std::move(event); }

  void on(transport::TokenReceived& event, Timestamp) { result_.token = std::move(event.token); }

  void on(transport::Closed& event, Timestamp) {
    const auto reason = event.reason.empty() ? "the server closed the connection before the answer" : event.reason;
    finish(event.refused ? Outcome::Refused : failure(), reason);
  }

  /// What it is called when the connection ended in the phase that was reached.
  Outcome failure() const {
    if (is_stream(transport_) && !result_.connected) return Outcome::Refused;
    if (is_encrypted(transport_) && !result_.secured) return Outcome::HandshakeFailed;
    return Outcome::Failed;
  }

  std::string timeout_reason() const {
    const char* what = is_stream(transport_) && !result_.connected       ? "the TCP connection was not accepted"
                       : is_dnscrypt(transport_) && !result_.secured  ? "no certificate came"
                       : is_encrypted(transport_) && !result_.secured ? "the handshake did not finish"
                                                                         : "no answer came";
    return std::format("{} within {:g} s", what, to_ms(options_.timeout) / 1000);
  }

  void finish(Outcome outcome, std::string reason) {
    if (!done_) return;
    deadline_.cancel();
    pause_.cancel();
    if (reused_) {
      result_.connected.reset();
      result_.secured.reset();
    }
    result_.outcome = outcome;
    result_.reason = std::move(reason);
    const auto done = std::exchange(done_, nullptr);
    if (pump_) pump_->close(options_.linger);
    done(std::move(result_));
  }

  asio::io_context& context_;
  asio::steady_timer deadline_, pause_;
  LookupOptions options_;
  Bytes query_;
  LookupHandler done_;
  LookupResult result_;
  Transport transport_ = Transport::Do53;
  bool reused_ = false;   ///< the measured query is on its way on a connection that was open
  bool opening_ = false;  ///< the answer awaited is that of the query that opens the connection
  std::shared_ptr<io::ClientPump> pump_;
};

}  // namespace

std::string_view to_string(Outcome o) {
  switch (o) {
    case Outcome::Answered: return "answered";
    case Outcome::TimedOut: return "timed out";
    case Outcome::Refused: return "refused";
    case Outcome::HandshakeFailed: return "handshake failed";
    case Outcome::Failed: return "failed";
  }
  return "failed";
}

void start_lookup(asio::io_context& context, const LookupOptions& options, BytesView query, LookupHandler done) {
  std::make_shared<LookupTask>(context, options, query, std::move(done))->begin();
}

LookupResult lookup(const LookupOptions& options, BytesView query) {
  asio::io_context context(1);
  LookupResult out;
  start_lookup(context, options, query, [&](LookupResult&& result) { out = std::move(result); });
  context.run();
  return out;
}

}  // namespace doxlab::client
