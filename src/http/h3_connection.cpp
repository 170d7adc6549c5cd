#include "http/h3_connection.hpp"

namespace doxlab::http {
namespace {

constexpr std::int64_t kMaxStreamId = (std::int64_t{1} << 62) - 1;

bool is_server_initiated(std::int64_t stream) {
  return (stream & 1) != 0;
}
bool is_unidirectional(std::int64_t stream) {
  return (stream & 2) != 0;
}

}  // namespace

H3Connection::H3Connection(bool server, const nghttp3_callbacks& callbacks,
                           std::uint64_t max_field_section_size, void* user)
    : server_(server) {
  nghttp3_settings settings;
  nghttp3_settings_default(&settings);
  settings.max_field_section_size = max_field_section_size;
  settings.qpack_max_dtable_capacity = 0;
  settings.qpack_encoder_max_dtable_capacity = 0;
  settings.qpack_blocked_streams = 0;
  nghttp3_conn* conn = nullptr;
  const int rv = server ? nghttp3_conn_server_new(&conn, &callbacks, &settings, nghttp3_mem_default(), user)
                        : nghttp3_conn_client_new(&conn, &callbacks, &settings, nghttp3_mem_default(), user);
  if (rv != 0) throw std::bad_alloc();
  conn_.reset(conn);
}

void H3Connection::bind_streams(std::int64_t control, std::int64_t qpack_encoder,
                                std::int64_t qpack_decoder) {
  if (bound_ || failed_) return;
  bound_ = true;
  check(nghttp3_conn_bind_control_stream(get(), control));
  if (!failed_) check(nghttp3_conn_bind_qpack_streams(get(), qpack_encoder, qpack_decoder));
}

bool H3Connection::receive(std::int64_t stream, BytesView data, bool fin) {
  if (failed_ || stream < 0 || stream > kMaxStreamId) return true;
  // QUIC never delivers data on streams of our own that only we send on; nghttp3 takes that for granted.
  const bool peers = is_server_initiated(stream) != server_;
  if (!peers && is_unidirectional(stream)) return true;
  const nghttp3_ssize rv =
      nghttp3_conn_read_stream2(get(), stream, data.data(), data.size(), fin ? 1 : 0, glitch_clock_);
  if (rv == NGHTTP3_ERR_MALFORMED_HTTP_HEADER || rv == NGHTTP3_ERR_MALFORMED_HTTP_MESSAGING) {
    // RFC 9114 §4.1.2: a fault of this message alone. Without a dynamic table, the rest of the field
    // section can be left undecoded.
    nghttp3_conn_shutdown_stream_write(get(), stream);
    abandon(stream, kH3MessageError, true);
    return false;
  }
  if (rv < 0) check(static_cast<int>(rv));
  return true;
}

void H3Connection::stream_reset(std::int64_t stream) {
  if (failed_ || stream < 0 || stream > kMaxStreamId) return;
  if (is_unidirectional(stream)) {
    stream_closed(stream, kH3NoError);
  } else {
    check(nghttp3_conn_shutdown_stream_read(get(), stream));
  }
}

void H3Connection::stop_sending(std::int64_t stream) {
  if (failed_) return;
  if (is_unidirectional(stream)) {
    // All our unidirectional streams are critical (RFC 9114 §6.2.1, RFC 9204 §4.2).
    fail(NGHTTP3_H3_CLOSED_CRITICAL_STREAM, "peer refused a critical stream");
  } else {
    nghttp3_conn_shutdown_stream_write(get(), stream);
  }
}

void H3Connection::stream_closed(std::int64_t stream, std::uint64_t code) {
  if (failed_ || stream < 0 || stream > kMaxStreamId) return;
  const int rv = nghttp3_conn_close_stream(get(), stream, code);
  if (rv != NGHTTP3_ERR_STREAM_NOT_FOUND) check(rv);
}

std::optional<StreamWrite> H3Connection::poll_write() {
  if (failed_ || !bound_) return std::nullopt;
  std::int64_t stream = -1;
  int fin = 0;
  nghttp3_vec vec[16];
  const nghttp3_ssize count = nghttp3_conn_writev_stream(get(), &stream, &fin, vec, std::size(vec));
  if (count < 0) {
    check(static_cast<int>(count));
    return std::nullopt;
  }
  if (stream < 0) return std::nullopt;
  StreamWrite write{stream, {}, fin != 0};
  for (const nghttp3_vec& v : std::span(vec, static_cast<std::size_t>(count))) {
    write.data.insert(write.data.end(), v.base, v.base + v.len);
  }
  // QUIC keeps the copy until it is acknowledged, so for nghttp3 it is as good as acknowledged now.
  check(nghttp3_conn_add_write_offset(get(), stream, write.data.size()));
  check(nghttp3_conn_add_ack_offset(get(), stream, write.data.size()));
  return write;
}

std::optional<StreamError> H3Connection::poll_stream_error() {
  if (stream_errors_.empty()) return std::nullopt;
  const StreamError error = stream_errors_.front();
  stream_errors_.pop_front();
  return error;
}

void H3Connection::abandon(std::int64_t stream, std::uint64_t code, bool reset) {
  check(nghttp3_conn_shutdown_stream_read(get(), stream));
  report({stream, code, reset});
}

void H3Connection::check(int error) {
  if (error == NGHTTP3_ERR_QPACK_HEADER_TOO_LARGE) {
    // One field over 64 KiB, four times the advertised limit of all: nghttp3 decodes nothing any more.
    fail(kH3ExcessiveLoad, nghttp3_strerror(error));
    return;
  }
  if (error != 0) fail(nghttp3_err_infer_quic_app_error_code(error), nghttp3_strerror(error));
}

void H3Connection::fail(std::uint64_t code, std::string_view reason) {
  if (failed_) return;
  failed_ = true;
  close_code_ = code;
  reason_ = reason;
  stream_errors_.clear();
}

}  // namespace doxlab::http
