#include <deque>
#include <map>
#include <stdexcept>
#include <utility>

#include "http/h2.hpp"
#include "tls/session.hpp"
#include "transport/doh/doh.hpp"
#include "transport/doh/exchange.hpp"

namespace doxlab::transport {
namespace {

class DohClient final : public ClientSession {
 public:
  DohClient(const ClientOptions& options, tls::SslPtr ssl) : options_(options), tls_(std::move(ssl)) {
    may_send_early_ = options_.ticket && options_.tls->options().early_data;
  }

  QueryHandle submit(BytesView query) override {
    const QueryHandle handle{next_handle_++};
    auto made = make_doh_query(handle, query);
    if (!made || ended_) {
      events_.push_back(QueryFailed{handle, ended_ ? "the connection is closed" : made.error().message});
      return handle;
    }
    const http::RequestId id = http_.submit(make_doh_request(*made, options_, Transport::Doh));
    if (!is_replayable(made->wire)) may_send_early_ = false;
    queries_.emplace(id, std::move(*made));
    return handle;
  }

  void start(Timestamp) override {
    if (started_ || ended_) return;
    started_ = true;
    if (may_send_early_) pass_to_tls();  // TLS sends it with the ClientHello, or keeps it if that cannot be
    if (auto result = tls_.start(); !result) end({false, result.error().message});
  }

  void receive(BytesView input, Timestamp) override {
    if (ended_) return;
    may_send_early_ = false;
    const auto received = tls_.receive(input);
    announce();
    if (ended_) return;
    http_.receive(tls_.take_plaintext());
    handle_http_events();
    if (ended_) return;
    if (!received) {
      end({false, received.error().message});
    } else if (tls_.peer_closed()) {
      tls_.close();
      end_by_peer();
    }
  }

  void receive_end(Timestamp) override {
    if (!ended_) end_by_peer();
  }

  std::optional<Timestamp> next_timeout() const override { return std::nullopt; }
  void on_timeout(Timestamp) override {}

  std::optional<Bytes> poll_output(Timestamp) override {
    if (!started_) return std::nullopt;
    // Until the handshake is done, frames gather in http_, so that they leave in one record with the
    // Finished.
    if (!ended_ && (tls_.handshake_done() || may_send_early_)) pass_to_tls();
    handle_http_events();
    Bytes output = tls_.take_output();
    if (output.empty()) return std::nullopt;
    return output;
  }

  std::optional<Event> poll_event() override {
    if (events_.empty()) return std::nullopt;
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

  void close(Timestamp) override {
    if (ended_) return;
    http_.close();
    if (started_ && tls_.handshake_done()) pass_to_tls();
    tls_.close();
    end({true, {}}, "the client closed the connection");
  }

 private:
  void announce() {
    if (!announced_ && tls_.handshake_done()) {
      announced_ = true;
      tls::HandshakeInfo info = tls_.info();
      const bool speaks_h2 = info.alpn == alpn(Transport::Doh);
      events_.push_back(HandshakeCompleted{std::move(info)});
      if (!speaks_h2) {  // RFC 9113 §3.2
        tls_.close();
        end({false, "the server did not choose HTTP/2"});
      }
    }
    if (auto ticket = tls_.take_ticket()) events_.push_back(TicketReceived{std::move(*ticket), {}});
  }

  void pass_to_tls() {
    const Bytes frames = http_.take_output();
    if (frames.empty()) return;
    if (auto written = tls_.write(frames); !written) end({false, written.error().message});
  }

  void handle_http_events() {
    while (auto event = ended_ ? std::nullopt : http_.poll_event()) {
      std::visit([this](auto& e) { on(e); }, *event);
    }
  }

  void on(http::ResponseArrived& event) {
    const DohQuery query = take_query(event.id);
    auto answer = read_doh_answer(query, event.response);
    if (answer) {
      events_.push_back(ResponseReceived{query.handle, std::move(*answer)});
    } else {
      events_.push_back(QueryFailed{query.handle, answer.error().message});
    }
  }

  void on(http::RequestFailed& event) {
    events_.push_back(QueryFailed{take_query(event.id).handle, std::move(event.reason)});
  }

  void on(http::ConnectionFailed& event) {
    // What http_ has to say to that, GOAWAY, goes before close_notify.
    if (tls_.handshake_done()) pass_to_tls();
    tls_.close();
    end({event.clean, event.clean ? std::string() : std::move(event.reason)});
  }

  DohQuery take_query(http::RequestId id) { return std::move(queries_.extract(id).mapped()); }

  void end_by_peer() {
    if (!tls_.handshake_done()) return end({false, "the server closed the connection during the handshake"});
    if (queries_.empty()) return end({true, {}});
    end({false, "the server closed the connection before it answered"});
  }

  void end(Closed closed, std::string query_reason = {}) {
    if (ended_) return;
    ended_ = true;
    if (query_reason.empty()) query_reason = closed.reason;
    for (const auto& [id, query] : std::exchange(queries_, {})) {
      events_.push_back(QueryFailed{query.handle, query_reason});
    }
    events_.push_back(std::move(closed));
  }

  ClientOptions options_;
  tls::Session tls_;
  http::H2Client http_;
  std::map<http::RequestId, DohQuery> queries_;
  std::deque<Event> events_;
  std::uint64_t next_handle_ = 1;
  bool started_ = false, announced_ = false, ended_ = false;
  bool may_send_early_ =
      false;  ///< nothing has come from the server, a ticket may allow 0-RTT, all queries are replayable
};

}  // namespace

Result<std::unique_ptr<ClientSession>> make_doh_client(const ClientOptions& options, Timestamp) {
  if (!options.tls) return fail("DoH needs a TLS context");
  try {
    auto ssl = options.tls->new_ssl(options.server_name, std::string(alpn(Transport::Doh)),
                                    options.ticket ? &options.ticket->ticket : nullptr, options.key_log);
    return std::make_unique<DohClient>(options, std::move(ssl));
  } catch (const std::runtime_error& error) {
    return fail(error.what());
  }
}

}  // namespace doxlab::transport
