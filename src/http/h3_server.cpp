#include <unordered_map>
#include <vector>

#include "http/h3_connection.hpp"

namespace doxlab::http {
namespace {

/// For PRIORITY_UPDATE, whose stream IDs must be ones the client may open (RFC 9218 §7.2): QUIC keeps the
/// true limit.
constexpr std::uint64_t kAnyStream = std::uint64_t{1} << 60;

}  // namespace

struct H3Server::State {
  struct Stream {
    explicit Stream(std::size_t max_header_bytes) : field_section(max_header_bytes) {}
    FieldSectionSize field_section;
    Request request;
    bool request_complete = false;
    bool answered = false;
    OutgoingH3Body body;
  };

  explicit State(H2Limits l)
      : limits(l), patience(l.max_resets), connection(true, callbacks(), l.max_header_bytes, this) {
    nghttp3_conn_set_max_client_streams_bidi(connection.get(), kAnyStream);
  }
  static nghttp3_callbacks callbacks();

  Stream* find(std::int64_t id);
  void forget(std::int64_t id);
  void on_header(std::int64_t id, nghttp3_rcbuf* name, nghttp3_rcbuf* value, bool trailer);
  void on_end_headers(std::int64_t id);
  void on_data(std::int64_t id, BytesView data);
  void on_end_stream(std::int64_t id);
  void answer_early(std::int64_t id, int status, std::string_view sentence);
  void respond(std::int64_t id, Stream& stream, const Response& response);
  void cancel(std::int64_t id);
  void settle();

  H2Limits limits;
  Patience patience;
  std::unordered_map<std::int64_t, Stream> streams;
  std::deque<std::int64_t> waiting;                      ///< complete requests that nobody has polled
  std::vector<std::pair<std::int64_t, Response>> early;  ///< answers found while nghttp3 was reading
  std::size_t buffered_body_bytes = 0;
  bool closing = false;
  // Last: it is destroyed first, while what its callbacks touch is still there.
  H3Connection connection;
};

nghttp3_callbacks H3Server::State::callbacks() {
  nghttp3_callbacks c{};
  c.begin_headers = [](nghttp3_conn*, std::int64_t id, void* user, void*) {
    auto* state = static_cast<State*>(user);
    state->streams.try_emplace(id, state->limits.max_header_bytes);
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
  c.end_headers = [](nghttp3_conn*, std::int64_t id, int, void* user, void*) {
    static_cast<State*>(user)->on_end_headers(id);
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
  return c;
}

H3Server::State::Stream* H3Server::State::find(std::int64_t id) {
  const auto it = streams.find(id);
  return it == streams.end() ? nullptr : &it->second;
}

void H3Server::State::forget(std::int64_t id) {
  const auto it = streams.find(id);
  if (it == streams.end()) return;
  buffered_body_bytes -= it->second.request.body.size();
  std::erase(waiting, id);
  streams.erase(it);
}

void H3Server::State::on_header(std::int64_t id, nghttp3_rcbuf* name, nghttp3_rcbuf* value, bool trailer) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->answered) return;
  if (!stream->field_section.add(to_view(name), to_view(value))) {
    answer_early(id, 431, "header fields too large");
  } else if (!trailer) {
    add_field(stream->request, to_view(name), to_view(value));
  }
}

void H3Server::State::on_end_headers(std::int64_t id) {
  const Stream* stream = find(id);
  if (stream != nullptr && announced_length(stream->request.headers).value_or(0) > limits.max_body_bytes) {
    answer_early(id, 413, "longer than any DNS message");
  }
}

void H3Server::State::on_data(std::int64_t id, BytesView data) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->answered) return;
  Bytes& body = stream->request.body;
  if (body.size() + data.size() > limits.max_body_bytes) {
    answer_early(id, 413, "longer than any DNS message");
    return;
  }
  body.insert(body.end(), data.begin(), data.end());
  buffered_body_bytes += data.size();
}

void H3Server::State::on_end_stream(std::int64_t id) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  stream->request_complete = true;
  if (!stream->answered) waiting.push_back(id);
}

/// nghttp3 is in the middle of reading, so the answer waits for settle().
void H3Server::State::answer_early(std::int64_t id, int status, std::string_view sentence) {
  Stream& stream = *find(id);
  if (stream.answered) return;
  stream.answered = true;
  early.emplace_back(id, make_error_response(status, sentence));
}

void H3Server::State::respond(std::int64_t id, Stream& stream, const Response& response) {
  stream.answered = true;
  buffered_body_bytes -= stream.request.body.size();
  stream.request.body.clear();
  if (stream.request.method != "HEAD") stream.body.bytes = response.body;
  const auto fields = to_fields(response);
  const auto list = to_name_values<nghttp3_nv>(fields);
  const nghttp3_data_reader reader{[](nghttp3_conn*, std::int64_t stream_id, nghttp3_vec* vec,
                                      std::size_t count, std::uint32_t* flags, void* user,
                                      void*) -> nghttp3_ssize {
    Stream* of = static_cast<State*>(user)->find(stream_id);
    return of == nullptr ? static_cast<nghttp3_ssize>(NGHTTP3_ERR_CALLBACK_FAILURE)
                         : of->body.read(vec, count, *flags);
  }};
  const bool has_body = !stream.body.bytes.empty();
  if (nghttp3_conn_submit_response(connection.get(), id, list.data(), list.size(),
                                   has_body ? &reader : nullptr) != 0) {
    connection.abandon(id, kH3InternalError, true);
  }
}

/// The peer gave this request up: whoever works on it will be ignored.
void H3Server::State::cancel(std::int64_t id) {
  patience.on_reset();
  if (connection.failed()) return;
  nghttp3_conn_shutdown_stream_write(connection.get(), id);
  connection.report({id, kH3RequestCancelled, true});
  forget(id);
}

void H3Server::State::settle() {
  if (connection.failed()) return;
  for (auto& [id, response] : std::exchange(early, {})) {
    Stream* stream = find(id);
    if (stream == nullptr) continue;
    respond(id, *stream, response);
    if (stream->request_complete) continue;
    // The response is whole, the rest of the request is not wanted (RFC 9114 §4.1).
    patience.on_reset();
    connection.abandon(id, kH3NoError, false);
  }
  if (patience.exhausted() || buffered_body_bytes > limits.max_buffered_body_bytes) {
    connection.fail(kH3ExcessiveLoad, "too much work without result");
  }
}

H3Server::H3Server(H2Limits limits) : state_(std::make_unique<State>(limits)) {}
H3Server::~H3Server() = default;

void H3Server::bind_streams(std::int64_t control, std::int64_t qpack_encoder, std::int64_t qpack_decoder) {
  state_->connection.bind_streams(control, qpack_encoder, qpack_decoder);
}

void H3Server::receive(std::int64_t stream, BytesView data, bool fin) {
  State& s = *state_;
  if (data.empty() && fin && (stream & 3) == 0 && s.find(stream) == nullptr) {
    // A stream that ends before it begins (RFC 9114 §4.1): the whole of it is H3_REQUEST_INCOMPLETE.
    s.patience.on_reset();
    if (!s.connection.failed()) s.connection.abandon(stream, kH3RequestIncomplete, true);
  } else if (!s.connection.receive(stream, data, fin)) {
    s.patience.on_reset();
    s.forget(stream);
  }
  s.settle();
}

void H3Server::stream_reset(std::int64_t stream, std::uint64_t) {
  State& s = *state_;
  s.connection.stream_reset(stream);
  const State::Stream* open = s.find(stream);
  // A request that was answered early lost nothing by it.
  if ((stream & 3) == 0 && (open == nullptr || !open->answered)) s.cancel(stream);
  s.settle();
}

void H3Server::stop_sending(std::int64_t stream, std::uint64_t) {
  State& s = *state_;
  s.connection.stop_sending(stream);
  if ((stream & 3) == 0) s.cancel(stream);
  s.settle();
}

void H3Server::stream_closed(std::int64_t stream, std::uint64_t code) {
  State& s = *state_;
  s.connection.stream_closed(stream, code);
  s.forget(stream);
  s.settle();
}

std::optional<StreamWrite> H3Server::poll_write() {
  State& s = *state_;
  auto write = s.connection.poll_write();
  if (!write || !write->fin) return write;
  s.patience.on_answered();
  s.connection.on_answered();
  if (State::Stream* stream = s.find(write->stream)) stream->body.bytes = {};  // all of it was copied out
  return write;
}

std::optional<IncomingRequest> H3Server::poll_request() {
  State& s = *state_;
  if (s.connection.failed() || s.waiting.empty()) return std::nullopt;
  const std::int64_t id = s.waiting.front();
  s.waiting.pop_front();
  State::Stream& stream = *s.find(id);  // forget() takes dead streams off the list
  s.buffered_body_bytes -= stream.request.body.size();
  IncomingRequest incoming{static_cast<RequestId>(id), std::move(stream.request)};
  stream.request = {};
  stream.request.method = incoming.request.method;  // respond() needs it
  return incoming;
}

void H3Server::respond(RequestId id, const Response& response) {
  State& s = *state_;
  const auto stream_id = static_cast<std::int64_t>(id);
  State::Stream* stream = s.find(stream_id);
  if (s.connection.failed() || stream == nullptr || stream->answered || !stream->request_complete) return;
  s.respond(stream_id, *stream, response);
}

void H3Server::close() {
  State& s = *state_;
  if (s.closing || s.connection.failed() || !s.connection.is_bound()) return;
  s.closing = true;
  nghttp3_conn_shutdown(s.connection.get());
}

bool H3Server::has_failed() const {
  return state_->connection.failed();
}
std::uint64_t H3Server::close_code() const {
  return state_->connection.close_code();
}
std::optional<StreamError> H3Server::poll_stream_error() {
  return state_->connection.poll_stream_error();
}

void H3Server::abandon(RequestId id, std::uint64_t code) {
  State& s = *state_;
  const auto stream = static_cast<std::int64_t>(id);
  if (s.connection.failed()) return;
  nghttp3_conn_shutdown_stream_write(s.connection.get(), stream);
  s.connection.abandon(stream, code, true);
  s.forget(stream);
}

std::size_t H3Server::open_requests() const {
  return state_->streams.size();
}
bool H3Server::is_open(RequestId id) const {
  return state_->streams.contains(static_cast<std::int64_t>(id));
}

}  // namespace doxlab::http
