#include <format>
#include <unordered_map>

#include "http/h3_connection.hpp"

namespace doxlab::http {
struct H3Client::State {
  struct Exchange {
    OutgoingH3Body body;
    FieldSectionSize field_section{kMaxAnswerFieldBytes};
    Response response;
    std::string fault;  ///< found while nghttp3 was reading
  };

  static nghttp3_callbacks callbacks();

  Exchange* find(std::int64_t id);
  void set_fault(std::int64_t id, std::string_view fault);
  void on_header(std::int64_t id, nghttp3_rcbuf* name, nghttp3_rcbuf* value, bool trailer);
  void on_data(std::int64_t id, BytesView data);
  void on_end_stream(std::int64_t id);
  void on_goaway(std::int64_t first_rejected);
  void fail_exchange(std::int64_t id, std::string reason);
  void settle();

  std::unordered_map<std::int64_t, Exchange> exchanges;
  std::deque<ClientEvent> events;
  std::vector<std::int64_t> faulty;
  bool going_away = false, ended = false;
  // Last: it is destroyed first, while what its callbacks touch is still there.
  H3Connection connection{false, callbacks(), kUnlimited, this};

  /// Not advertised: the setting would cost octets, and the cap holds without it.
  static constexpr std::uint64_t kUnlimited = (std::uint64_t{1} << 62) - 1;
};

nghttp3_callbacks H3Client::State::callbacks() {
  nghttp3_callbacks c{};
  c.begin_headers = [](nghttp3_conn*, std::int64_t id, void* user, void*) {
    // An interim response (1xx) gives way to the final one.
    if (Exchange* exchange = static_cast<State*>(user)->find(id)) exchange->response = {};
    return 0;
  };
  c.recv_header = [](nghttp3_conn*, std::int64_t id, std::int32_t, nghttp3_rcbuf* name, nghttp3_rcbuf* value,
                     std::uint8_t, void* user, void*) {
    static_cast<State*>(user)->on_header(id, name, value, false);
    return 0;
  };
  c.recv_trailer = [](nghttp3_conn*, std::int64_t id, std::int32_t, nghttp3_rcbuf* name, nghttp3_rcbuf* value,
                      std::uint8_t, void* user, void*) {
    static_cast<State*>(user)->on_header(id, name, value, true);
    return 0;
  };
  c.recv_data = [](nghttp3_conn*, std::int64_t id, const std::uint8_t* data, std::size_t length, void* user,
                   void*) {
    static_cast<State*>(user)->on_data(id, {data, length});
    return 0;
  };
  c.end_stream = [](nghttp3_conn*, std::int64_t id, void* user, void*) {
    static_cast<State*>(user)->on_end_stream(id);
    return 0;
  };
  c.stop_sending = report_stop_sending<State>;
  c.reset_stream = report_reset_stream<State>;
  c.shutdown = [](nghttp3_conn*, std::int64_t id, void* user) {
    static_cast<State*>(user)->on_goaway(id);
    return 0;
  };
  return c;
}

H3Client::State::Exchange* H3Client::State::find(std::int64_t id) {
  const auto it = exchanges.find(id);
  return it == exchanges.end() ? nullptr : &it->second;
}

void H3Client::State::set_fault(std::int64_t id, std::string_view fault) {
  if (Exchange* exchange = find(id)) {
    exchange->fault = fault;
    faulty.push_back(id);
  }
}

void H3Client::State::on_header(std::int64_t id, nghttp3_rcbuf* name, nghttp3_rcbuf* value, bool trailer) {
  Exchange* exchange = find(id);
  if (exchange == nullptr || !exchange->fault.empty()) return;
  if (!exchange->field_section.add(to_view(name), to_view(value))) {
    set_fault(id, "response header fields too large");
  } else if (!trailer) {
    add_field(exchange->response, to_view(name), to_view(value));
  }
}

void H3Client::State::on_data(std::int64_t id, BytesView data) {
  Exchange* exchange = find(id);
  if (exchange == nullptr || !exchange->fault.empty()) return;
  Bytes& body = exchange->response.body;
  if (body.size() + data.size() > kMaxMessageBytes) {
    set_fault(id, "response is longer than any DNS message");
    return;
  }
  body.insert(body.end(), data.begin(), data.end());
}

void H3Client::State::on_end_stream(std::int64_t id) {
  Exchange* exchange = find(id);
  if (exchange == nullptr || !exchange->fault.empty()) return;
  events.push_back(ResponseArrived{static_cast<RequestId>(id), std::move(exchange->response)});
  exchanges.erase(id);
  connection.on_answered();
}

void H3Client::State::on_goaway(std::int64_t first_rejected) {
  going_away = true;
  std::vector<std::int64_t> rejected;
  for (const auto& [id, exchange] : exchanges) {
    if (id >= first_rejected) rejected.push_back(id);
  }
  for (const std::int64_t id : rejected) fail_exchange(id, "GOAWAY: request was not processed");
}

void H3Client::State::fail_exchange(std::int64_t id, std::string reason) {
  if (exchanges.erase(id) > 0) events.push_back(RequestFailed{static_cast<RequestId>(id), std::move(reason)});
}

void H3Client::State::settle() {
  if (ended) return;
  if (!connection.failed()) {
    for (const std::int64_t id : std::exchange(faulty, {})) {
      const Exchange* exchange = find(id);
      if (exchange == nullptr) continue;
      nghttp3_conn_shutdown_stream_write(connection.get(), id);
      connection.abandon(id, kH3RequestCancelled, true);
      fail_exchange(id, exchange->fault);
    }
  }
  if (!connection.failed()) return;
  ended = true;
  const std::string reason = std::format("HTTP/3 error: {}", connection.reason());
  for (const auto& [id, exchange] : exchanges)
    events.push_back(RequestFailed{static_cast<RequestId>(id), reason});
  exchanges.clear();
  events.push_back(ConnectionFailed{reason, false});
}

H3Client::H3Client() : state_(std::make_unique<State>()) {}
H3Client::~H3Client() = default;

void H3Client::bind_streams(std::int64_t control, std::int64_t qpack_encoder, std::int64_t qpack_decoder) {
  state_->connection.bind_streams(control, qpack_encoder, qpack_decoder);
  state_->settle();
}

void H3Client::submit(std::int64_t stream, const Request& request) {
  State& s = *state_;
  const auto fail = [&](std::string reason) {
    s.events.push_back(RequestFailed{static_cast<RequestId>(stream), std::move(reason)});
  };
  if (s.ended || s.going_away || !s.connection.is_bound()) return fail("connection takes no more requests");
  const auto fields = to_fields(request);
  const auto list = to_name_values<nghttp3_nv>(fields);
  const nghttp3_data_reader reader{[](nghttp3_conn*, std::int64_t id, nghttp3_vec* vec, std::size_t count,
                                      std::uint32_t* flags, void* user, void*) -> nghttp3_ssize {
    State::Exchange* exchange = static_cast<State*>(user)->find(id);
    if (exchange != nullptr) return exchange->body.read(vec, count, *flags);
    *flags |= NGHTTP3_DATA_FLAG_EOF;
    return 0;
  }};
  const int rv = nghttp3_conn_submit_request(s.connection.get(), stream, list.data(), list.size(),
                                             request.body.empty() ? nullptr : &reader, nullptr);
  if (rv != 0) return fail(nghttp3_strerror(rv));
  s.exchanges[stream].body.bytes = request.body;
}

void H3Client::receive(std::int64_t stream, BytesView data, bool fin) {
  State& s = *state_;
  if (!s.connection.receive(stream, data, fin)) s.fail_exchange(stream, "malformed response");
  s.settle();
}

void H3Client::stream_reset(std::int64_t stream, std::uint64_t code) {
  State& s = *state_;
  s.connection.stream_reset(stream);
  s.fail_exchange(stream, std::format("stream reset with code {:#x}", code));
  s.settle();
}

void H3Client::stop_sending(std::int64_t stream, std::uint64_t) {
  state_->connection.stop_sending(stream);
  state_->settle();
}

void H3Client::stream_closed(std::int64_t stream, std::uint64_t code) {
  State& s = *state_;
  s.connection.stream_closed(stream, code);
  s.fail_exchange(stream, "stream closed without a whole response");
  s.settle();
}

std::optional<StreamWrite> H3Client::poll_write() {
  auto write = state_->connection.poll_write();
  state_->settle();
  return write;
}

std::optional<ClientEvent> H3Client::poll_event() {
  auto& events = state_->events;
  if (events.empty()) return std::nullopt;
  ClientEvent event = std::move(events.front());
  events.pop_front();
  return event;
}

std::optional<StreamError> H3Client::poll_stream_error() {
  return state_->connection.poll_stream_error();
}

std::uint64_t H3Client::close_code() const {
  return state_->connection.close_code();
}

}  // namespace doxlab::http
