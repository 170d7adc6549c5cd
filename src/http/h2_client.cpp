#include <deque>
#include <format>
#include <unordered_map>

#include "http/h2.hpp"
#include "http/h2_session.hpp"
#include "http/message.hpp"

namespace doxlab::http {
namespace {

/// A server may reset no more streams than this without answering others.
constexpr std::size_t kMaxResets = 1000;

}  // namespace

struct H2Client::State {
  struct Exchange {
    RequestId id = 0;
    OutgoingBody body;
    FieldSectionSize field_section{kMaxAnswerFieldBytes};
    Response response;
    bool has_final_headers = false;
  };

  State();

  void finish(std::int32_t stream);
  void abandon(std::int32_t stream, std::string reason);
  void fail_exchange(std::int32_t stream, std::string reason);
  void end(std::string reason, bool clean);
  void settle();
  Exchange* find(std::int32_t stream);

  int on_begin_headers(const nghttp2_frame& frame);
  int on_header(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  int on_data(std::int32_t stream, BytesView data);
  int on_frame(const nghttp2_frame& frame);

  Patience patience{kMaxResets};
  std::unordered_map<std::int32_t, Exchange> exchanges;
  std::deque<ClientEvent> events;
  RequestId next_id = 1;
  std::string fault;                    ///< the last rule that the peer broke, in nghttp2's words
  std::optional<std::uint32_t> goaway;  ///< code of a GOAWAY received
  bool ended = false;                   ///< ConnectionFailed was emitted, or close() was called
  bool broken = false;
  // Last: it is destroyed first, while what its callbacks touch is still there.
  H2Session session;
};

H2Client::State::State() {
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
      c, [](nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* data, std::size_t length,
            void* user) {
        return static_cast<State*>(user)->on_data(stream, {data, length});
      });
  nghttp2_session_callbacks_set_on_begin_frame_callback(
      c, [](nghttp2_session*, const nghttp2_frame_hd* header, void* user) {
        auto* state = static_cast<State*>(user);
        if (may_be_idle(*header)) state->patience.on_idle_frame();
        return state->patience.exhausted() ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      c, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        return static_cast<State*>(user)->on_frame(*frame);
      });
  nghttp2_session_callbacks_set_on_frame_not_send_callback(
      c, [](nghttp2_session*, const nghttp2_frame* frame, int error, void* user) {
        if (frame->hd.type == NGHTTP2_HEADERS) {
          static_cast<State*>(user)->fail_exchange(frame->hd.stream_id, nghttp2_strerror(error));
        }
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      c, [](nghttp2_session*, std::int32_t stream, std::uint32_t code, void* user) {
        static_cast<State*>(user)->fail_exchange(
            stream, std::format("stream reset: {}", nghttp2_http2_strerror(code)));
        return 0;
      });
  nghttp2_session_callbacks_set_error_callback2(
      c, [](nghttp2_session*, int, const char* message, std::size_t length, void* user) {
        static_cast<State*>(user)->fault.assign(message, length);
        return 0;
      });
  nghttp2_session* raw = nullptr;
  if (nghttp2_session_client_new2(&raw, c, this, new_option().get()) != 0) throw std::bad_alloc();
  session.reset(raw);

  // Nothing else: each further setting costs 6 octets, and the defaults suit DNS.
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
  nghttp2_submit_settings(raw, NGHTTP2_FLAG_NONE, settings, std::size(settings));
}

H2Client::State::Exchange* H2Client::State::find(std::int32_t stream) {
  const auto it = exchanges.find(stream);
  return it == exchanges.end() ? nullptr : &it->second;
}

int H2Client::State::on_begin_headers(const nghttp2_frame& frame) {
  // An interim response (1xx) gives way to the final one.
  if (Exchange* exchange = find(frame.hd.stream_id); exchange != nullptr && !exchange->has_final_headers) {
    exchange->response = {};
  }
  return 0;
}

int H2Client::State::on_header(const nghttp2_frame& frame, std::string_view name, std::string_view value) {
  Exchange* exchange = find(frame.hd.stream_id);
  if (exchange == nullptr) return 0;
  if (exchange->field_section.add(name, value) && !exchange->has_final_headers) {
    add_field(exchange->response, name, value);
  }
  return 0;
}

int H2Client::State::on_data(std::int32_t stream, BytesView data) {
  patience.on_progress();
  Exchange* exchange = find(stream);
  if (exchange == nullptr) return 0;
  Bytes& body = exchange->response.body;
  if (body.size() + data.size() > kMaxMessageBytes) {
    abandon(stream, "response is longer than any DNS message");
    return 0;
  }
  body.insert(body.end(), data.begin(), data.end());
  return 0;
}

int H2Client::State::on_frame(const nghttp2_frame& frame) {
  switch (frame.hd.type) {
    case NGHTTP2_GOAWAY:
      goaway = frame.goaway.error_code;
      return 0;
    case NGHTTP2_RST_STREAM:
      patience.on_reset();
      return 0;
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
      break;
    default:
      return 0;
  }
  Exchange* exchange = find(frame.hd.stream_id);
  if (exchange == nullptr) return 0;
  if (exchange->field_section.exceeded()) {
    abandon(frame.hd.stream_id, "response header fields too large");
    return 0;
  }
  if (frame.hd.type == NGHTTP2_HEADERS && exchange->response.status >= 200)
    exchange->has_final_headers = true;
  if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) finish(frame.hd.stream_id);
  return 0;
}

void H2Client::State::finish(std::int32_t stream) {
  auto node = exchanges.extract(stream);
  patience.on_answered();
  events.push_back(ResponseArrived{node.mapped().id, std::move(node.mapped().response)});
}

/// Gives one exchange up from this side.
void H2Client::State::abandon(std::int32_t stream, std::string reason) {
  fail_exchange(stream, std::move(reason));
  nghttp2_submit_rst_stream(session.get(), NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
}

void H2Client::State::fail_exchange(std::int32_t stream, std::string reason) {
  if (auto node = exchanges.extract(stream)) {
    events.push_back(RequestFailed{node.mapped().id, std::move(reason)});
  }
}

void H2Client::State::end(std::string reason, bool clean) {
  if (ended) return;
  ended = true;
  clean = clean && exchanges.empty();
  for (auto& [stream, exchange] : exchanges) events.push_back(RequestFailed{exchange.id, reason});
  exchanges.clear();
  events.push_back(ConnectionFailed{std::move(reason), clean});
}

/// Emits the end of the connection once nghttp2 wants nothing more from the peer.
void H2Client::State::settle() {
  if (ended || (!broken && nghttp2_session_want_read(session.get()) != 0)) return;
  if (goaway) {
    end(std::format("GOAWAY: {}", nghttp2_http2_strerror(*goaway)), *goaway == NGHTTP2_NO_ERROR);
  } else {
    end(fault.empty() ? "HTTP/2 connection error" : fault, false);
  }
}

H2Client::H2Client() : state_(std::make_unique<State>()) {}
H2Client::~H2Client() = default;

RequestId H2Client::submit(const Request& request) {
  State& s = *state_;
  const RequestId id = s.next_id++;
  if (s.ended) {
    s.events.push_back(RequestFailed{id, "connection is closed"});
    return id;
  }
  const auto fields = to_fields(request);
  const auto list = to_name_values<nghttp2_nv>(fields);
  nghttp2_data_provider2 provider{};
  provider.read_callback = [](nghttp2_session*, std::int32_t stream, std::uint8_t* to, std::size_t room,
                              std::uint32_t* flags, nghttp2_data_source*, void* user) -> nghttp2_ssize {
    State::Exchange* exchange = static_cast<State*>(user)->find(stream);
    if (exchange == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return static_cast<nghttp2_ssize>(exchange->body.read(to, room, *flags));
  };
  const std::int32_t stream = nghttp2_submit_request2(s.session.get(), nullptr, list.data(), list.size(),
                                                      request.body.empty() ? nullptr : &provider, nullptr);
  if (stream < 0) {
    s.events.push_back(RequestFailed{id, nghttp2_strerror(stream)});
    return id;
  }
  State::Exchange& exchange = s.exchanges[stream];
  exchange.id = id;
  exchange.body.bytes = request.body;
  return id;
}

void H2Client::receive(BytesView input) {
  State& s = *state_;
  if (s.ended || s.broken || input.empty()) return;
  const nghttp2_ssize rv = nghttp2_session_mem_recv2(s.session.get(), input.data(), input.size());
  if (rv < 0) {
    const bool flood = rv == NGHTTP2_ERR_FLOODED || s.patience.exhausted();
    s.end(flood ? "server floods the connection" : nghttp2_strerror(static_cast<int>(rv)), false);
    nghttp2_session_terminate_session(s.session.get(),
                                      flood ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_INTERNAL_ERROR);
  }
  s.settle();
}

Bytes H2Client::take_output() {
  State& s = *state_;
  Bytes output;
  if (!s.broken && !drain(s.session.get(), output)) s.broken = true;
  s.settle();
  return output;
}

std::optional<ClientEvent> H2Client::poll_event() {
  auto& events = state_->events;
  if (events.empty()) return std::nullopt;
  ClientEvent event = std::move(events.front());
  events.pop_front();
  return event;
}

void H2Client::close() {
  State& s = *state_;
  if (s.ended) return;
  s.ended = true;
  for (auto& [stream, exchange] : s.exchanges) s.events.push_back(RequestFailed{exchange.id, "closed"});
  s.exchanges.clear();
  if (nghttp2_session_terminate_session(s.session.get(), NGHTTP2_NO_ERROR) != 0) s.broken = true;
}

bool H2Client::is_closed() const {
  nghttp2_session* session = state_->session.get();
  return state_->broken ||
         (nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0);
}

}  // namespace doxlab::http
