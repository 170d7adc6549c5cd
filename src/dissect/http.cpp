#include "dissect/http.hpp"

#include <algorithm>

#include "dissect/http_content.hpp"
#include "dissect/limits.hpp"

namespace doxlab::dissect {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::uint32_t kHttp2HeaderBytes = 9;
constexpr std::uint64_t kData = 0;
constexpr std::uint8_t kPadded = 0x8;

/// A frame with where its data is.
struct Found {
  std::uint32_t index = 0;
  HttpData data;
};

HttpFrame read_http2_header(BytesView header, std::uint64_t at) {
  ByteReader in(header);
  HttpFrame frame;
  frame.payload_length = in.u24();
  frame.type = in.u8();
  frame.flags = in.u8();
  frame.stream_id = in.u32() & 0x7fff'ffff;
  frame.offset = at;
  frame.header_length = kHttp2HeaderBytes;
  return frame;
}

/// The data of a DATA frame without pad length and padding (RFC 9113 §6.1).
HttpData find_http2_data(HttpFrame& frame, BytesView payload) {
  HttpData data{frame.offset + frame.header_length, payload.size(), 0};
  if ((frame.flags & kPadded) == 0 || payload.empty()) return data;
  const std::uint64_t padding = payload[0];
  if (padding + 1 > payload.size()) return data;
  frame.padding = static_cast<std::uint32_t>(padding + 1);
  return {data.offset + 1, payload.size() - padding - 1, 0};
}

void read_http3_frames(BytesView stream, std::uint64_t at, const Carrier& carrier, std::uint64_t stream_id,
                       HttpFindings& out, Layout& layout) {
  HttpContent content;
  std::vector<Found> found;
  while (at < stream.size() && out.frames.size() < kMostItems) {
    ByteReader in(stream.subspan(at));
    HttpFrame frame{.carrier = carrier, .version = 3, .stream_id = stream_id, .offset = at};
    frame.type = in.varint();
    frame.payload_length = in.varint();
    if (!in.ok()) break;
    frame.header_length = static_cast<std::uint32_t>(in.position());
    frame.is_complete = frame.payload_length <= in.remaining();
    HttpData data;
    if (frame.type == kData && frame.is_complete) {
      const auto octets = in.take(frame.payload_length);
      data = {at + frame.header_length, octets.size(), content.add(stream_id, octets)};
    }
    found.push_back({static_cast<std::uint32_t>(out.frames.size()), data});
    out.frames.push_back(frame);
    if (!frame.is_complete) break;
    at += frame.header_length + frame.payload_length;
  }
  content.read(carrier, out.messages);
  for (const auto& [index, data] : found) name_http_frame(layout, out.frames[index], index, data, content);
}

}  // namespace

bool looks_like_http2(BytesView client_stream) {
  return client_stream.size() >= kPreface.size() &&
         std::ranges::equal(client_stream.first(kPreface.size()), as_bytes(kPreface));
}

void read_http2(BytesView stream, const Carrier& carrier, HttpFindings out, Layout& layout) {
  HttpContent content;
  std::vector<Found> found;
  std::uint64_t at = looks_like_http2(stream) ? kPreface.size() : 0;
  layout.add(0, at, {.kind = TileKind::Http2Preface});
  while (stream.size() - at >= kHttp2HeaderBytes && out.frames.size() < kMostItems) {
    auto frame = read_http2_header(stream.subspan(at), at);
    frame.carrier = carrier;
    const auto behind = at + frame.header_length;
    frame.is_complete = frame.payload_length <= stream.size() - behind;
    HttpData data;
    if (frame.type == kData && frame.is_complete) {
      data = find_http2_data(frame, stream.subspan(behind, frame.payload_length));
      data.content_offset = content.add(frame.stream_id, stream.subspan(data.offset, data.length));
    }
    found.push_back({static_cast<std::uint32_t>(out.frames.size()), data});
    out.frames.push_back(frame);
    if (!frame.is_complete) break;
    at = behind + frame.payload_length;
  }
  content.read(carrier, out.messages);
  for (const auto& [index, data] : found) name_http_frame(layout, out.frames[index], index, data, content);
}

void read_http3_stream(BytesView stream, const Carrier& carrier, std::uint64_t stream_id, HttpFindings out,
                       Layout& layout) {
  const bool is_bidirectional = (stream_id & 2) == 0;
  if (is_bidirectional) return read_http3_frames(stream, 0, carrier, stream_id, out, layout);
  // RFC 9114 §6.2, RFC 9204 §4.2.
  enum StreamType : std::uint64_t { Control = 0, Push = 1, QpackEncoder = 2, QpackDecoder = 3 };
  ByteReader in(stream);
  const auto type = in.varint();
  if (!in.ok()) return;
  if (type == Push) in.varint();  // push ID
  if (!in.ok()) return;
  const auto begin = in.position();
  layout.add(0, begin, {.kind = TileKind::Http3StreamType});
  if (type == Control || type == Push)
    return read_http3_frames(stream, begin, carrier, stream_id, out, layout);
  if (type == QpackEncoder || type == QpackDecoder)
    layout.add(begin, stream.size(), {.kind = TileKind::QpackInstructions});
}

void name_http_frame(Layout& layout, const HttpFrame& frame, std::uint32_t index, const HttpData& data,
                     HttpContent& content) {
  const auto payload = frame.offset + frame.header_length, end = payload + frame.payload_length;
  layout.add(frame.offset, payload, {.kind = TileKind::HttpFrameHeader, .item = index});
  if (data.offset == 0) return layout.add(payload, end, {.kind = TileKind::HttpFramePayload, .item = index});
  layout.add(payload, data.offset, {.kind = TileKind::HttpDataPadding, .item = index});
  const ByteRange range{data.content_offset, data.content_offset + data.length};
  content.layout(frame.stream_id)
      .slice(range, {.kind = TileKind::HttpFramePayload, .item = index},
             [&](std::uint64_t from, std::uint64_t to, const Label& label) {
               layout.add(data.offset + (from - range.begin), data.offset + (to - range.begin), label);
             });
  layout.add(data.offset + data.length, end, {.kind = TileKind::HttpDataPadding, .item = index});
}

std::string_view http_frame_name(const HttpFrame& frame) {
  constexpr std::array<std::string_view, 10> kHttp2 = {
      "DATA",         "HEADERS", "PRIORITY", "RST_STREAM",    "SETTINGS",
      "PUSH_PROMISE", "PING",    "GOAWAY",   "WINDOW_UPDATE", "CONTINUATION"};
  if (frame.version == 2) return frame.type < kHttp2.size() ? kHttp2[frame.type] : "unknown";
  switch (frame.type) {
    case 0x0:
      return "DATA";
    case 0x1:
      return "HEADERS";
    case 0x3:
      return "CANCEL_PUSH";
    case 0x4:
      return "SETTINGS";
    case 0x5:
      return "PUSH_PROMISE";
    case 0x7:
      return "GOAWAY";
    case 0xd:
      return "MAX_PUSH_ID";
    default:
      return "unknown";
  }
}

}  // namespace doxlab::dissect
