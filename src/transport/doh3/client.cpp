// The client side of DoH3: one connection, many queries.

#include <deque>
#include <format>
#include <map>
#include <utility>
#include <vector>

#include "http/h3.hpp"
#include "transport/doh/exchange.hpp"
#include "transport/doh3/doh3.hpp"

namespace doxlab::transport {
namespace {

using quic::StreamId;

class Doh3Client final : public ClientSession {
 public:
  Doh3Client(const ClientOptions& options, std::unique_ptr<quic::Connection> connection, Timestamp now)
      : options_(options), connection_(std::move(connection)), last_now_(now) {}

  QueryHandle submit(BytesView query) override {
    const QueryHandle handle{next_handle_++};
    auto made = make_doh_query(handle, query);
    if (!made || closed_) {
      events_.push_back(QueryFailed{handle, closed_ ? "the connection is closed" : made.error().message});
      return handle;
    }
    waiting_.push_back(std::move(*made));
    send_waiting();
    return handle;
  }

  void start(Timestamp now) override {
    last_now_ = now;
    started_ = true;
  }

  void receive(BytesView input, Timestamp now) override {
    last_now_ = now;
    connection_->receive(options_.local, options_.remote, input, now);
    handle_events();
  }

  void receive_end(Timestamp) override {}

  std::optional<Timestamp> next_timeout() const override {
    return started_ ? connection_->next_timeout() : std::nullopt;
  }

  void on_timeout(Timestamp now) override {
    last_now_ = now;
    connection_->on_timeout(now);
    handle_events();
  }

  std::optional<Bytes> poll_output(Timestamp now) override {
    last_now_ = now;
    if (!started_) return std::nullopt;
    do {
      if (auto datagram = connection_->poll_datagram(now)) return datagram;
    } while (handle_events());  // what is learnt while sending may want an answer
    return std::nullopt;
  }

  std::optional<Event> poll_event() override {
    handle_events();
    if (events_.empty()) return std::nullopt;
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

  void close(Timestamp now) override {
    last_now_ = now;
    connection_->close(http::kH3NoError, {}, now);
    handle_events();
  }

 private:
  /// Control and QPACK streams, as soon as the server's limit is known (with 0-RTT: remembered).
  bool open_control_streams() {
    while (control_streams_.size() < 3) {
      const auto stream = connection_->open_unidirectional();
      if (!stream) return false;  // HandshakeCompleted or StreamsAvailable calls again
      control_streams_.push_back(*stream);
      if (control_streams_.size() == 3)
        http_.bind_streams(control_streams_[0], control_streams_[1], control_streams_[2]);
    }
    return true;
  }

  void send_waiting() {
    if (closed_ || waiting_.empty() || !may_go_now(waiting_.front()) || !open_control_streams()) return;
    while (!waiting_.empty() && may_go_now(waiting_.front())) {
      const auto stream = connection_->open_bidirectional();
      if (!stream) break;
      http_.submit(*stream, make_doh_request(waiting_.front(), options_, Transport::Doh3));
      exchanges_.emplace(*stream, std::move(waiting_.front()));
      waiting_.pop_front();
    }
    carry();
  }

  bool may_go_now(const DohQuery& query) const {
    return connection_->handshake_completed() || is_replayable(query.wire);
  }

  /// Carries from http_ to the connection and to our events.
  void carry() {
    while (auto write = http_.poll_write()) connection_->write(write->stream, write->data, write->fin);
    while (auto error = http_.poll_stream_error()) {
      connection_->stop_sending(error->stream, error->code);
      if (error->reset) connection_->reset(error->stream, error->code);
    }
    while (auto event = http_.poll_event()) {
      std::visit([this](auto& e) { on(e); }, *event);
    }
  }

  bool handle_events() {
    bool any = false;
    while (auto event = connection_->poll_event()) {
      any = true;
      std::visit([this](auto& e) { on(e); }, *event);
      carry();
    }
    return any;
  }

  void on(quic::HandshakeCompleted& event) {
    events_.push_back(HandshakeCompleted{std::move(event.info), retry_});
    send_waiting();
  }
  void on(quic::RetryReceived&) { retry_ = true; }
  void on(quic::StreamsAvailable&) { send_waiting(); }
  void on(quic::TicketReceived& event) {
    events_.push_back(TicketReceived{std::move(event.ticket), std::move(event.transport_parameters)});
  }
  void on(quic::TokenReceived& event) { events_.push_back(TokenReceived{std::move(event.token)}); }
  void on(quic::StreamData& event) {
    http_.receive(event.id, event.data, event.fin);
    connection_->consumed(event.id, event.data.size());
  }
  void on(quic::StreamReset& event) { http_.stream_reset(event.id, event.code); }
  void on(quic::StopSending& event) { http_.stop_sending(event.id, event.code); }
  void on(quic::StreamClosed& event) { http_.stream_closed(event.id, http::kH3NoError); }

  void on(quic::Closed& event) {
    closed_ = true;
    const bool was_idle = waiting_.empty() && exchanges_.empty();
    const std::string reason = describe(event);
    for (const auto& [stream, query] : std::exchange(exchanges_, {})) {
      events_.push_back(QueryFailed{query.handle, reason});
    }
    for (const DohQuery& query : std::exchange(waiting_, {}))
      events_.push_back(QueryFailed{query.handle, reason});
    const bool by_choice = event.code == http::kH3NoError && (event.kind == quic::CloseKind::Local ||
                                                              event.kind == quic::CloseKind::PeerApplication);
    const bool clean = (by_choice && (was_idle || event.kind == quic::CloseKind::Local)) ||
                       (event.kind == quic::CloseKind::IdleTimeout && was_idle);
    events_.push_back(Closed{clean, reason});
  }

  void on(http::ResponseArrived& event) {
    const auto query = take_query(event.id);
    if (!query) return;
    auto answer = read_doh_answer(*query, event.response);
    if (answer) {
      events_.push_back(ResponseReceived{query->handle, std::move(*answer)});
    } else {
      events_.push_back(QueryFailed{query->handle, answer.error().message});
    }
  }

  void on(http::RequestFailed& event) {
    if (const auto query = take_query(event.id)) {
      events_.push_back(QueryFailed{query->handle, std::move(event.reason)});
    }
  }

  void on(http::ConnectionFailed& event) {
    failure_ = event.reason;
    connection_->close(http_.close_code(), event.reason, last_now_);
  }

  std::optional<DohQuery> take_query(http::RequestId id) {
    auto node = exchanges_.extract(static_cast<StreamId>(id));
    if (!node) return std::nullopt;
    return std::move(node.mapped());
  }

  std::string describe(const quic::Closed& event) const {
    const std::string detail = event.detail.empty() ? "" : ", " + event.detail;
    switch (event.kind) {
      case quic::CloseKind::Local:
        return failure_.empty() ? "closed" : failure_;
      case quic::CloseKind::PeerApplication:
        return std::format("the server closed: HTTP/3 code {:#x}{}", event.code, detail);
      case quic::CloseKind::PeerTransport:
        return std::format("the server closed: {}{}", quic::transport_error_text(event.code), detail);
      default:
        return event.detail;
    }
  }

  ClientOptions options_;  ///< its context outlives the connection
  std::unique_ptr<quic::Connection> connection_;
  http::H3Client http_;
  Timestamp last_now_;
  bool started_ = false, closed_ = false, retry_ = false;
  std::uint64_t next_handle_ = 1;
  std::vector<StreamId> control_streams_;
  std::deque<DohQuery> waiting_;
  std::map<StreamId, DohQuery> exchanges_;
  std::string failure_;
  std::deque<Event> events_;
};

}  // namespace

Result<std::unique_ptr<ClientSession>> make_doh3_client(const ClientOptions& options, Timestamp now) {
  if (!options.tls) return fail("DoH3 needs a TLS context");
  quic::Options quic_options = options.quic;
  quic_options.max_streams_bidi = 0;  // servers open none (RFC 9114 §6.1)
  quic_options.max_streams_uni = kDoh3UnidirectionalStreams;
  quic::ClientParameters parameters;
  parameters.server_name = options.server_name;
  parameters.key_log = options.key_log;
  parameters.alpn = alpn(Transport::Doh3);
  parameters.local = options.local;
  parameters.remote = options.remote;
  if (options.ticket) {
    parameters.ticket = &options.ticket->ticket;
    parameters.remembered_transport_parameters = options.ticket->transport_parameters;
  }
  parameters.token = options.token;
  auto connection = quic::Connection::connect(*options.tls, quic_options, parameters, now);
  if (!connection) return fail(connection.error().message);
  return std::make_unique<Doh3Client>(options, std::move(*connection), now);
}

}  // namespace doxlab::transport
