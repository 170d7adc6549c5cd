#include <deque>
#include <unordered_map>

#include "http/h2.hpp"
#include "http/h2_session.hpp"
#include "http/message.hpp"

namespace doxlab::http {

struct H2Server::State {
  struct Stream {
    explicit Stream(std::size_t max_header_bytes) : field_section(max_header_bytes) {}
    FieldSectionSize field_section;
    Request request;
    bool request_complete = false;
    bool answered = false;
    OutgoingBody body;
  };

  explicit State(H2Limits l);

  void start();
  void fail(std::uint32_t code);
  void settle();
  Stream* find(std::int32_t id);
  void finish_headers(std::int32_t id, Stream& stream);
  void finish_request(std::int32_t id, Stream& stream);
  void respond(std::int32_t id, Stream& stream, const Response& response);

  int on_begin_headers(const nghttp2_frame& frame);
  int on_header(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  int on_data(std::int32_t id, BytesView data);
  int on_frame(const nghttp2_frame& frame);
  int on_frame_sent(const nghttp2_frame& frame);
  void on_close(std::int32_t id, std::uint32_t code);
  /// What a callback returns: nghttp2 stops reading once the peer has used up a limit.
  int verdict();

  H2Limits limits;
  Patience patience;
  std::unordered_map<std::int32_t, Stream> streams;
  std::deque<std::int32_t> waiting;     ///< complete requests that nobody has polled
  std::size_t buffered_body_bytes = 0;  ///< of incomplete and waiting requests
  std::size_t queued_output_bytes = 0;
  bool passed_limit = false;  ///< a callback saw a limit passed; receive() tells the peer
  bool terminated = false;    ///< nothing is read any more
  bool draining = false, final_goaway = false;
  bool broken = false;  ///< nghttp2 cannot even write
  // Last: it is destroyed first, while what its callbacks touch is still there.
  H2Session session;
};

H2Server::State::State(H2Limits l) : limits(l), patience(l.max_resets) {
  start();
}

void H2Server::State::start() {
  const auto callbacks = new_callbacks();
  auto* c = callbacks.get();
  nghttp2_session_callbacks_set_on_begin_headers_callback(
      c, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        return static_cast<State*>(user)->on_begin_headers(*frame);
      });
  nghttp2_session_callbacks_set_on_header_callback(
      c, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_length,
            const std::uint8_t* value, std::size_t value_length, std::uint8_t, void* user) {
        return static_cast<State*>(user)->on_header(*frame, to_view(name, name_length),
                                                    to_view(value, value_length));
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      c, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data, std::size_t length,
            void* user) {
        return static_cast<State*>(user)->on_data(id, {data, length});
      });
  nghttp2_session_callbacks_set_on_begin_frame_callback(
      c, [](nghttp2_session*, const nghttp2_frame_hd* header, void* user) {
        auto* state = static_cast<State*>(user);
        if (may_be_idle(*header)) state->patience.on_idle_frame();
        return state->verdict();
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      c, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        return static_cast<State*>(user)->on_frame(*frame);
      });
  nghttp2_session_callbacks_set_on_frame_send_callback(
      c, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        return static_cast<State*>(user)->on_frame_sent(*frame);
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      c, [](nghttp2_session*, std::int32_t id, std::uint32_t code, void* user) {
        static_cast<State*>(user)->on_close(id, code);
        return 0;
      });
  nghttp2_session* raw = nullptr;
  if (nghttp2_session_server_new2(&raw, c, this, new_option().get()) != 0) throw std::bad_alloc();
  session.reset(raw);

  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.max_concurrent_streams},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits.max_header_bytes)},
  };
  nghttp2_submit_settings(raw, NGHTTP2_FLAG_NONE, settings, std::size(settings));
}

H2Server::State::Stream* H2Server::State::find(std::int32_t id) {
  const auto it = streams.find(id);
  return it == streams.end() ? nullptr : &it->second;
}

int H2Server::State::verdict() {
  if (patience.exhausted() || buffered_body_bytes > limits.max_buffered_body_bytes) {
    passed_limit = true;
  }
  return passed_limit ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

int H2Server::State::on_begin_headers(const nghttp2_frame& frame) {
  if (frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
    streams.try_emplace(frame.hd.stream_id, limits.max_header_bytes);
  }
  return 0;
}

int H2Server::State::on_header(const nghttp2_frame& frame, std::string_view name, std::string_view value) {
  Stream* stream = find(frame.hd.stream_id);
  if (stream == nullptr) return 0;
  const bool trailer = frame.headers.cat != NGHTTP2_HCAT_REQUEST;
  if (stream->field_section.add(name, value) && !trailer) add_field(stream->request, name, value);
  return 0;
}

int H2Server::State::on_data(std::int32_t id, BytesView data) {
  patience.on_progress();
  Stream* stream = find(id);
  if (stream == nullptr || stream->answered) return 0;
  Bytes& body = stream->request.body;
  if (body.size() + data.size() > limits.max_body_bytes) {
    respond(id, *stream, make_error_response(413, "longer than any DNS message"));
    return 0;
  }
  body.insert(body.end(), data.begin(), data.end());
  buffered_body_bytes += data.size();
  return verdict();
}

int H2Server::State::on_frame(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_RST_STREAM) patience.on_reset();
  if (Stream* stream = find(frame.hd.stream_id)) {
    if (frame.hd.type == NGHTTP2_HEADERS) finish_headers(frame.hd.stream_id, *stream);
    const bool has_end = frame.hd.type == NGHTTP2_HEADERS || frame.hd.type == NGHTTP2_DATA;
    if (has_end && (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      finish_request(frame.hd.stream_id, *stream);
    }
  }
  return verdict();
}

void H2Server::State::finish_headers(std::int32_t id, Stream& stream) {
  if (stream.answered) return;
  if (stream.field_section.exceeded()) {
    respond(id, stream, make_error_response(431, "header fields too large"));
  } else if (announced_length(stream.request.headers).value_or(0) > limits.max_body_bytes) {
    respond(id, stream, make_error_response(413, "longer than any DNS message"));
  }
}

void H2Server::State::finish_request(std::int32_t id, Stream& stream) {
  stream.request_complete = true;
  if (stream.answered) return;
  waiting.push_back(id);
  patience.on_progress();
}

void H2Server::State::respond(std::int32_t id, Stream& stream, const Response& response) {
  stream.answered = true;
  buffered_body_bytes -= stream.request.body.size();
  stream.request.body.clear();
  if (stream.request.method != "HEAD") stream.body.bytes = response.body;
  queued_output_bytes += stream.body.bytes.size();

  const auto fields = to_fields(response);
  const auto list = to_name_values<nghttp2_nv>(fields);
  nghttp2_data_provider2 provider{};
  provider.read_callback = [](nghttp2_session*, std::int32_t stream_id, std::uint8_t* to, std::size_t room,
                              std::uint32_t* flags, nghttp2_data_source*, void* user) -> nghttp2_ssize {
    auto* state = static_cast<State*>(user);
    Stream* of = state->find(stream_id);
    if (of == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const std::size_t count = of->body.read(to, room, *flags);
    state->queued_output_bytes -= count;
    return static_cast<nghttp2_ssize>(count);
  };
  const bool has_body = !stream.body.bytes.empty();
  if (nghttp2_submit_response2(session.get(), id, list.data(), list.size(), has_body ? &provider : nullptr) !=
      0) {
    nghttp2_submit_rst_stream(session.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_INTERNAL_ERROR);
  }
}

int H2Server::State::on_frame_sent(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_RST_STREAM) patience.on_reset();
  const bool has_end = frame.hd.type == NGHTTP2_HEADERS || frame.hd.type == NGHTTP2_DATA;
  if (!has_end || (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
  patience.on_answered();
  const Stream* stream = find(frame.hd.stream_id);
  if (stream != nullptr && !stream->request_complete) {
    // Answered early: the rest of the request is not wanted (RFC 9113 §8.1).
    nghttp2_submit_rst_stream(session.get(), NGHTTP2_FLAG_NONE, frame.hd.stream_id, NGHTTP2_NO_ERROR);
  }
  return 0;
}

void H2Server::State::on_close(std::int32_t id, std::uint32_t) {
  const auto it = streams.find(id);
  if (it == streams.end()) return;
  buffered_body_bytes -= it->second.request.body.size();
  queued_output_bytes -= it->second.body.left();
  std::erase(waiting, id);
  streams.erase(it);
}

void H2Server::State::fail(std::uint32_t code) {
  if (terminated) return;
  terminated = true;
  if (nghttp2_session_terminate_session(session.get(), code) != 0) broken = true;
}

void H2Server::State::settle() {
  if (!terminated && (patience.exhausted() || queued_output_bytes > limits.max_queued_output_bytes)) {
    fail(NGHTTP2_ENHANCE_YOUR_CALM);
  }
  if (!draining || final_goaway || terminated || !streams.empty()) return;
  final_goaway = true;
  nghttp2_submit_goaway(session.get(), NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session.get()), NGHTTP2_NO_ERROR, nullptr, 0);
}

H2Server::H2Server(H2Limits limits) : state_(std::make_unique<State>(limits)) {}
H2Server::~H2Server() = default;

void H2Server::receive(BytesView input) {
  State& s = *state_;
  if (s.terminated || s.broken || input.empty()) return;
  const nghttp2_ssize rv = nghttp2_session_mem_recv2(s.session.get(), input.data(), input.size());
  if (rv < 0) {
    if (s.passed_limit || rv == NGHTTP2_ERR_FLOODED) {
      s.fail(NGHTTP2_ENHANCE_YOUR_CALM);
    } else {
      s.fail(rv == NGHTTP2_ERR_BAD_CLIENT_MAGIC ? NGHTTP2_PROTOCOL_ERROR : NGHTTP2_INTERNAL_ERROR);
    }
  }
  s.settle();
}

Bytes H2Server::take_output() {
  State& s = *state_;
  Bytes output;
  if (!drain(s.session.get(), output)) s.broken = true;
  // Sending may have closed the last stream of a connection that is drained, or used up a limit.
  s.settle();
  if (!s.broken && !drain(s.session.get(), output)) s.broken = true;
  return output;
}

std::optional<IncomingRequest> H2Server::poll_request() {
  State& s = *state_;
  if (s.terminated || s.waiting.empty()) return std::nullopt;
  const std::int32_t id = s.waiting.front();
  s.waiting.pop_front();
  State::Stream& stream = *s.find(id);  // on_close() takes dead streams off the list
  s.buffered_body_bytes -= stream.request.body.size();
  IncomingRequest incoming{static_cast<RequestId>(id), std::move(stream.request)};
  stream.request = {};
  stream.request.method = incoming.request.method;  // respond() needs it
  return incoming;
}

void H2Server::respond(RequestId id, const Response& response) {
  State& s = *state_;
  if (s.terminated || id > static_cast<RequestId>(INT32_MAX)) return;
  State::Stream* stream = s.find(static_cast<std::int32_t>(id));
  if (stream == nullptr || stream->answered || !stream->request_complete) return;
  s.respond(static_cast<std::int32_t>(id), *stream, response);
  s.settle();
}

void H2Server::close() {
  State& s = *state_;
  if (s.draining) {
    s.fail(NGHTTP2_NO_ERROR);
    return;
  }
  s.draining = true;
  if (!s.streams.empty()) nghttp2_submit_shutdown_notice(s.session.get());
  s.settle();
}

bool H2Server::is_closed() const {
  nghttp2_session* session = state_->session.get();
  return state_->broken ||
         (nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0);
}

std::size_t H2Server::open_requests() const {
  return state_->streams.size();
}

bool H2Server::is_open(RequestId id) const {
  return id <= static_cast<RequestId>(INT32_MAX) && state_->streams.contains(static_cast<std::int32_t>(id));
}

RequestId H2Server::last_request() const {
  return static_cast<RequestId>(nghttp2_session_get_last_proc_stream_id(state_->session.get()));
}

}  // namespace doxlab::http
