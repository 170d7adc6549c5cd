// The client side of DoQ: one connection, many queries.

#include <deque>
#include <format>
#include <map>
#include <utility>

#include "dns/message.hpp"
#include "dns/scan.hpp"
#include "transport/doq/doq.hpp"
#include "transport/framing/framing.hpp"

namespace doxlab::transport {
namespace {

using quic::StreamId;

class DoqClient final : public ClientSession {
 public:
  DoqClient(const ClientOptions& options, std::unique_ptr<quic::Connection> connection, Timestamp now)
      : tls_(options.tls),
        local_(options.local),
        remote_(options.remote),
        connection_(std::move(connection)),
        last_now_(now) {}

  QueryHandle submit(BytesView query) override {
    const QueryHandle handle{next_handle_++};
    if (closed_) {
      fail_query(handle, "the connection is closed");
    } else if (query.size() < dns::kHeaderOctets || query.size() > dns::kMaxMessageOctets) {
      fail_query(handle, std::format("a query of {} octets cannot be sent", query.size()));
    } else if (dns::has_edns_option(query, dns::kOptionKeepalive)) {
      fail_query(handle, "edns-tcp-keepalive must not be sent over DoQ (RFC 9250 §5.5.2)");
    } else {
      waiting_.push_back({handle, to_bytes(query), dns::message_id(query)});
      send_waiting();
    }
    return handle;
  }

  void start(Timestamp now) override {
    last_now_ = now;
    started_ = true;
  }

  void receive(BytesView input, Timestamp now) override {
    last_now_ = now;
    connection_->receive(local_, remote_, input, now);
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
    auto datagram = connection_->poll_datagram(now);
    handle_events();
    return datagram;
  }

  std::optional<Event> poll_event() override {
    if (events_.empty()) return std::nullopt;
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

  void close(Timestamp now) override {
    last_now_ = now;
    connection_->close(static_cast<std::uint64_t>(DoqError::NoError), {}, now);
    handle_events();
  }

 private:
  struct Query {
    QueryHandle handle;
    Bytes message;  ///< as submitted
    std::uint16_t id = 0;
  };
  struct Exchange {
    Query query;
    MessageReader answer;
    bool answered = false;
  };

  void fail_query(QueryHandle handle, std::string reason) {
    events_.push_back(QueryFailed{handle, std::move(reason)});
  }

  // 0-RTT can be replayed, so only what changes nothing may use it (RFC 9250 §4.5).
  bool may_go_now(const Query& query) const {
    if (connection_->handshake_completed()) return true;
    const auto opcode = dns::read_header(query.message)->opcode();
    return opcode == 0 || opcode == 4;  // QUERY, NOTIFY
  }

  void send_waiting() {
    while (!waiting_.empty() && may_go_now(waiting_.front())) {
      const auto stream = connection_->open_bidirectional();
      if (!stream) return;  // StreamsAvailable calls again
      Query query = std::move(waiting_.front());
      waiting_.pop_front();
      connection_->write(*stream, doq_frame(query.message), true);
      exchanges_.emplace(*stream, Exchange{std::move(query), MessageReader(), false});
    }
  }

  void handle_events() {
    while (auto event = connection_->poll_event()) {
      std::visit([this](auto& e) { on(e); }, *event);
    }
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
    connection_->consumed(event.id, event.data.size());
    const auto found = exchanges_.find(event.id);
    if (found == exchanges_.end()) {
      // Servers open no streams, and the stream limits they were given are zero (RFC 9250 §4.3.3).
      return;
    }
    Exchange& exchange = found->second;
    if (exchange.answered) {
      if (!event.data.empty()) protocol_error("bytes after the answer");
      return;
    }
    exchange.answer.feed(event.data);
    auto answer = exchange.answer.next();
    if (!answer) {
      if (event.fin) protocol_error("the stream ended before the answer");
      return;
    }
    if (exchange.answer.buffered() > 0) return protocol_error("bytes after the answer");
    take_answer(exchange, std::move(*answer));
  }

  void take_answer(Exchange& exchange, Bytes answer) {
    exchange.answered = true;
    if (answer.size() < dns::kHeaderOctets) return protocol_error("an answer shorter than a DNS header");
    if (dns::message_id(answer) != 0) return protocol_error("an answer with a message ID");
    if (dns::has_edns_option(answer, dns::kOptionKeepalive))
      return protocol_error("edns-tcp-keepalive in an answer");
    dns::set_message_id(answer, exchange.query.id);
    if (!dns::is_answer_to(exchange.query.message, answer)) {
      return fail_query(exchange.query.handle, "the answer is to another question");
    }
    events_.push_back(ResponseReceived{exchange.query.handle, std::move(answer)});
  }

  void on(quic::StreamReset& event) {
    fail_exchange(event.id, "the server reset the stream: " + to_string(doq_error_from(event.code)));
  }
  void on(quic::StopSending&) { protocol_error("the server asked to stop sending"); }
  void on(quic::StreamClosed& event) {
    fail_exchange(event.id, "the stream ended without an answer");
    exchanges_.erase(event.id);
  }

  void fail_exchange(StreamId stream, std::string reason) {
    const auto found = exchanges_.find(stream);
    if (found == exchanges_.end() || std::exchange(found->second.answered, true)) return;
    fail_query(found->second.query.handle, std::move(reason));
  }

  void protocol_error(std::string_view what) {
    connection_->close(static_cast<std::uint64_t>(DoqError::ProtocolError), what, last_now_);
  }

  void on(quic::Closed& event) {
    closed_ = true;
    const std::string reason = describe(event);
    bool open_queries = !waiting_.empty();
    for (auto& [stream, exchange] : exchanges_) {
      if (exchange.answered) continue;
      open_queries = true;
      fail_query(exchange.query.handle, reason);
    }
    for (const Query& query : waiting_) fail_query(query.handle, reason);
    exchanges_.clear();
    waiting_.clear();
    const bool clean = event.code == static_cast<std::uint64_t>(DoqError::NoError) &&
                       (event.kind == quic::CloseKind::Local ||
                        (event.kind == quic::CloseKind::PeerApplication && !open_queries) ||
                        (event.kind == quic::CloseKind::IdleTimeout && !open_queries));
    events_.push_back(Closed{clean, reason});
  }

  static std::string describe(const quic::Closed& event) {
    switch (event.kind) {
      case quic::CloseKind::Local:
        if (event.code == 0) return "closed";
        return std::format("the server broke RFC 9250: {}", event.detail);
      case quic::CloseKind::PeerApplication:
        return std::format("the server closed: {}{}{}", to_string(doq_error_from(event.code)),
                           event.detail.empty() ? "" : ", ", event.detail);
      case quic::CloseKind::PeerTransport:
        return std::format("the server closed: {}{}{}", quic::transport_error_text(event.code),
                           event.detail.empty() ? "" : ", ", event.detail);
      default:
        return event.detail;
    }
  }

  std::shared_ptr<const tls::ClientContext> tls_;  ///< outlives the connection
  SocketAddress local_, remote_;
  std::unique_ptr<quic::Connection> connection_;
  Timestamp last_now_;
  bool started_ = false, closed_ = false, retry_ = false;
  std::uint64_t next_handle_ = 1;
  std::deque<Query> waiting_;
  std::map<StreamId, Exchange> exchanges_;
  std::deque<Event> events_;
};

}  // namespace

Result<std::unique_ptr<ClientSession>> make_doq_client(const ClientOptions& options, Timestamp now) {
  if (!options.tls) return fail("DoQ needs a TLS context");
  quic::Options quic_options = options.quic;
  quic_options.max_streams_bidi = 0;  // servers open no streams (RFC 9250 §4.3.3)
  quic_options.max_streams_uni = 0;
  quic::ClientParameters parameters;
  parameters.server_name = options.server_name;
  parameters.key_log = options.key_log;
  parameters.alpn = "doq";
  parameters.local = options.local;
  parameters.remote = options.remote;
  if (options.ticket) {
    parameters.ticket = &options.ticket->ticket;
    parameters.remembered_transport_parameters = options.ticket->transport_parameters;
  }
  parameters.token = options.token;
  auto connection = quic::Connection::connect(*options.tls, quic_options, parameters, now);
  if (!connection) return fail(connection.error().message);
  return std::make_unique<DoqClient>(options, std::move(*connection), now);
}

}  // namespace doxlab::transport
