#pragma once
/// HTTP/3 frames and QPACK field sections written by hand, so that tests can break every rule.

#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace doxlab::http::test3 {

inline Bytes varint(std::uint64_t value) {
  ByteWriter out;
  if (value < 64) {
    out.u8(static_cast<std::uint8_t>(value));
  } else if (value < 16384) {
    out.u16(static_cast<std::uint16_t>(value | 0x4000));
  } else {
    out.u32(static_cast<std::uint32_t>(value | 0x80000000));
  }
  return out.take();
}

inline Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

enum FrameType : std::uint64_t {
  Data = 0,
  Headers = 1,
  CancelPush = 3,
  Settings = 4,
  PushPromise = 5,
  Goaway = 7,
  MaxPushId = 13,
  Grease = 0x21
};

inline Bytes frame(std::uint64_t type, const Bytes& payload = {}) {
  return varint(type) + varint(payload.size()) + payload;
}

/// An HPACK integer with a prefix of `bits` (RFC 7541 §5.1), the upper bits of its first octet given.
inline void add_integer(Bytes& out, std::uint8_t first, int bits, std::size_t value) {
  const std::size_t limit = (1u << bits) - 1;
  if (value < limit) {
    out.push_back(static_cast<std::uint8_t>(first | value));
    return;
  }
  out.push_back(static_cast<std::uint8_t>(first | limit));
  for (value -= limit; value >= 128; value /= 128)
    out.push_back(static_cast<std::uint8_t>(value % 128 + 128));
  out.push_back(static_cast<std::uint8_t>(value));
}

using Fields = std::vector<std::pair<std::string, std::string>>;

/// Literal field lines with literal names (RFC 9204 §4.5.6), no dynamic table, no Huffman.
inline Bytes field_section(const Fields& fields) {
  Bytes out = {0, 0};
  for (const auto& [name, value] : fields) {
    add_integer(out, 0x20, 3, name.size());
    out.insert(out.end(), name.begin(), name.end());
    add_integer(out, 0, 7, value.size());
    out.insert(out.end(), value.begin(), value.end());
  }
  return out;
}

inline Bytes headers(const Fields& fields) {
  return frame(Headers, field_section(fields));
}

inline const Fields kPost = {{":method", "POST"},
                             {":scheme", "https"},
                             {":authority", "a"},
                             {":path", "/dns-query"},
                             {"content-type", "application/dns-message"}};
inline const Fields kGet = {{":method", "GET"},
                            {":scheme", "https"},
                            {":authority", "a"},
                            {":path", "/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB"}};

/// Stream types (RFC 9114 §6.2, RFC 9204 §4.2) with what must come first.
inline Bytes control_stream() {
  return varint(0) + frame(Settings);
}
inline Bytes qpack_encoder_stream() {
  return varint(2);
}
inline Bytes qpack_decoder_stream() {
  return varint(3);
}

}  // namespace doxlab::http::test3
