#pragma once
/// nghttp2's objects with owners, and the parts that client and server sessions share. Internal.

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "base/bytes.hpp"

namespace doxlab::http {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using H2Session = std::unique_ptr<nghttp2_session, Freer<nghttp2_session_del>>;
using H2Callbacks = std::unique_ptr<nghttp2_session_callbacks, Freer<nghttp2_session_callbacks_del>>;
using H2Option = std::unique_ptr<nghttp2_option, Freer<nghttp2_option_del>>;

inline H2Callbacks new_callbacks() {
  nghttp2_session_callbacks* callbacks = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0) throw std::bad_alloc();
  return H2Callbacks(callbacks);
}

/// Options with the bounds that both ends use.
inline H2Option new_option() {
  nghttp2_option* option = nullptr;
  if (nghttp2_option_new(&option) != 0) throw std::bad_alloc();
  // Acknowledgements of PING and SETTINGS that wait for output; nghttp2 ends the session beyond.
  nghttp2_option_set_max_outbound_ack(option, 200);
  nghttp2_option_set_max_reserved_remote_streams(option, 0);
  // nghttp2 counts only the resets it receives and looks at the clock for it; Patience counts both kinds.
  nghttp2_option_set_stream_reset_rate_limit(option, UINT64_MAX, UINT64_MAX);
  return H2Option(option);
}

/// A body on its way out.
struct OutgoingBody {
  Bytes bytes;
  std::size_t offset = 0;

  std::size_t left() const { return bytes.size() - offset; }
  /// Copies up to `room` octets to `to`; sets EOF in `flags` with the last of them.
  std::size_t read(std::uint8_t* to, std::size_t room, std::uint32_t& flags) {
    const std::size_t count = std::min(room, left());
    if (count > 0) std::memcpy(to, bytes.data() + offset, count);
    offset += count;
    if (left() == 0) flags |= NGHTTP2_DATA_FLAG_EOF;
    return count;
  }
};

/// Everything that the session wants to send now. False: nghttp2 failed for good.
inline bool drain(nghttp2_session* session, Bytes& output) {
  for (;;) {
    const std::uint8_t* data = nullptr;
    const nghttp2_ssize length = nghttp2_session_mem_send2(session, &data);
    if (length < 0) return false;
    if (length == 0) return true;
    output.insert(output.end(), data, data + length);
  }
}

inline std::string_view to_view(const std::uint8_t* data, std::size_t length) {
  return {reinterpret_cast<const char*>(data), length};
}

/// True for frames that may carry nothing. DATA is one until content was seen in it: it may be all padding.
inline bool may_be_idle(const nghttp2_frame_hd& header) {
  return header.type != NGHTTP2_HEADERS;
}

}  // namespace doxlab::http
