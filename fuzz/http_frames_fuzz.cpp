// One direction of an HTTP connection. Octet 0: even = HTTP/2, odd = HTTP/3 on the stream numbered by the rest
// of it; bit 7: towards the client. Then the stream.
#include "dissect/http.hpp"
#include "dissection_check.hpp"

using namespace doxlab;
using namespace doxlab::dissect;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const BytesView stream(data + 1, size - 1);
  const bool is_http3 = (data[0] & 1) != 0;
  const std::uint64_t stream_id = data[0] >> 1 & 0x3f;
  const Carrier carrier{.kind = is_http3 ? CarrierKind::Quic : CarrierKind::Tcp,
                        .connection = 0,
                        .direction = (data[0] & 0x80) != 0 ? link::Direction::ToClient : link::Direction::ToServer};
  std::vector<HttpFrame> frames;
  std::vector<DnsMessage> messages;
  Layout layout;
  if (is_http3)
    read_http3_stream(stream, carrier, stream_id, {frames, messages}, layout);
  else
    read_http2(stream, carrier, {frames, messages}, layout);
  fuzz::check_layout(layout, stream.size(), std::max(frames.size(), messages.size()));
  std::uint64_t at = 0;
  for (const auto& frame : frames) {
    require(frame.offset >= at && frame.offset + frame.header_length <= stream.size());
    require(!http_frame_name(frame).empty());
    if (frame.is_complete) require(frame.payload_length <= stream.size() - frame.offset - frame.header_length);
    at = frame.offset + frame.header_length + (frame.is_complete ? frame.payload_length : 0);
  }
  for (const auto& message : messages) require(message.length <= stream.size());
  return 0;
}
