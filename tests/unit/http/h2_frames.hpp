#pragma once
/// HTTP/2 frames written by hand, so that tests can break every rule, and the frames of an output.

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace doxlab::http::test {

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
enum FrameType : std::uint8_t {
  Data,
  Headers,
  Priority,
  RstStream,
  Settings,
  PushPromise,
  Ping,
  Goaway,
  WindowUpdate,
  Continuation
};
inline constexpr std::uint8_t kEndStream = 0x1, kAck = 0x1, kEndHeaders = 0x4;

struct Frame {
  std::uint8_t type = 0, flags = 0;
  std::uint32_t stream = 0;
  Bytes payload;
};

inline Bytes frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, BytesView payload = {}) {
  ByteWriter out;
  out.u24(static_cast<std::uint32_t>(payload.size()));
  out.u8(type);
  out.u8(flags);
  out.u32(stream);
  out.append(payload);
  return out.take();
}

inline Bytes u32(std::uint32_t value) {
  ByteWriter out;
  out.u32(value);
  return out.take();
}

/// A field as an HPACK literal without indexing, new name, no Huffman (RFC 7541 §6.2.2). Length below 127.
inline void add_literal(Bytes& block, std::string_view name, std::string_view value) {
  block.push_back(0);
  for (std::string_view text : {name, value}) {
    block.push_back(static_cast<std::uint8_t>(text.size()));
    block.insert(block.end(), text.begin(), text.end());
  }
}

using Fields = std::vector<std::pair<std::string, std::string>>;
inline Bytes header_block(const Fields& fields) {
  Bytes block;
  for (const auto& [name, value] : fields) add_literal(block, name, value);
  return block;
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

inline Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The client's preface and an empty SETTINGS frame.
inline Bytes opening() {
  return to_bytes(as_bytes(kPreface)) + frame(Settings, 0, 0);
}

/// Splits an output (without preface) into frames; a partial frame at the end is dropped.
inline std::vector<Frame> split(BytesView output) {
  std::vector<Frame> frames;
  ByteReader in(output);
  while (in.remaining() >= 9) {
    Frame f;
    const std::uint32_t length = in.u24();
    f.type = in.u8();
    f.flags = in.u8();
    f.stream = in.u32();
    f.payload = to_bytes(in.take(length));
    if (!in.ok()) break;
    frames.push_back(std::move(f));
  }
  return frames;
}

inline std::size_t count(const std::vector<Frame>& frames, std::uint8_t type) {
  std::size_t n = 0;
  for (const Frame& f : frames) n += f.type == type;
  return n;
}

/// The code of the last GOAWAY; empty: none.
inline std::optional<std::uint32_t> goaway_code(const std::vector<Frame>& frames) {
  std::optional<std::uint32_t> code;
  for (const Frame& f : frames) {
    if (f.type != Goaway) continue;
    ByteReader in(f.payload);
    in.skip(4);
    code = in.u32();
  }
  return code;
}

/// The code of the last RST_STREAM for `stream`; empty: none.
inline std::optional<std::uint32_t> reset_code(const std::vector<Frame>& frames, std::uint32_t stream) {
  std::optional<std::uint32_t> code;
  for (const Frame& f : frames) {
    if (f.type == RstStream && f.stream == stream) code = ByteReader(f.payload).u32();
  }
  return code;
}

}  // namespace doxlab::http::test
