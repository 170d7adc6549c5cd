#pragma once
/// An nghttp3 connection with an owner, and what client and server do alike with it: copy writes out so
/// that nghttp3 keeps nothing, and tell faults of a stream from faults of the connection. Internal.

#include <nghttp3/nghttp3.h>

#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <string_view>

#include "http/h3.hpp"
#include "http/message.hpp"

namespace doxlab::http {

struct H3ConnDeleter {
  void operator()(nghttp3_conn* conn) const { nghttp3_conn_del(conn); }
};
using H3Conn = std::unique_ptr<nghttp3_conn, H3ConnDeleter>;

/// A response or request body that nghttp3 reads in one run.
struct OutgoingH3Body {
  Bytes bytes;

  nghttp3_ssize read(nghttp3_vec* vec, std::size_t count, std::uint32_t& flags) {
    if (bytes.empty() || count == 0) {
      flags |= NGHTTP3_DATA_FLAG_EOF;
      return 0;
    }
    vec[0] = {bytes.data(), bytes.size()};
    flags |= NGHTTP3_DATA_FLAG_EOF;
    return 1;
  }
};

class H3Connection {
 public:
  /// `user` is handed to the callbacks.
  H3Connection(bool server, const nghttp3_callbacks& callbacks, std::uint64_t max_field_section_size,
               void* user);

  void bind_streams(std::int64_t control, std::int64_t qpack_encoder, std::int64_t qpack_decoder);
  /// Feeds stream data. False: the message is malformed; poll_stream_error() has its stream, which is
  /// read and written no more.
  bool receive(std::int64_t stream, BytesView data, bool fin);
  void stream_reset(std::int64_t stream);
  void stop_sending(std::int64_t stream);
  void stream_closed(std::int64_t stream, std::uint64_t code);
  std::optional<StreamWrite> poll_write();
  std::optional<StreamError> poll_stream_error();

  /// Stops reading a stream and asks the driver to tell the peer.
  void abandon(std::int64_t stream, std::uint64_t code, bool reset);
  void report(StreamError error) { stream_errors_.push_back(error); }
  void fail(std::uint64_t code, std::string_view reason);
  /// Lets nghttp3's limit on fruitless frames recover a little: it is given answers for a clock.
  void on_answered() { glitch_clock_ += kGlitchClockStep; }

  nghttp3_conn* get() const { return conn_.get(); }
  bool failed() const { return failed_; }
  std::uint64_t close_code() const { return close_code_; }
  std::string_view reason() const { return reason_; }
  bool is_bound() const { return bound_; }

 private:
  /// nghttp3 regains 33 tokens of 1,000 a second, so about three unknown frames are free with each answer;
  /// clients that grease every request send one or two (RFC 9114 §7.2.8).
  static constexpr nghttp3_tstamp kGlitchClockStep = 100'000'000;

  void check(int error);

  H3Conn conn_;
  bool server_, bound_ = false, failed_ = false;
  std::uint64_t close_code_ = kH3NoError;
  std::string_view reason_;
  nghttp3_tstamp glitch_clock_ = 0;
  std::deque<StreamError> stream_errors_;
};

/// Reports a STOP_SENDING that nghttp3 asks for. On request streams its reset_stream callback follows, and
/// one report does for both.
template <class State>
int report_stop_sending(nghttp3_conn*, std::int64_t id, std::uint64_t code, void* user, void*) {
  if ((id & 2) != 0) static_cast<State*>(user)->connection.report({id, code, false});
  return 0;
}
template <class State>
int report_reset_stream(nghttp3_conn*, std::int64_t id, std::uint64_t code, void* user, void*) {
  static_cast<State*>(user)->connection.report({id, code, true});
  return 0;
}

inline std::string_view to_view(nghttp3_rcbuf* buffer) {
  const nghttp3_vec v = nghttp3_rcbuf_get_buf(buffer);
  return {reinterpret_cast<const char*>(v.base), v.len};
}

}  // namespace doxlab::http
