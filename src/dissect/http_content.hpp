#pragma once
/// The content of HTTP streams: DATA payloads put together and read as DNS messages. Internal.

#include <map>

#include "dissect/http.hpp"

namespace doxlab::dissect {

class HttpContent {
 public:
  /// Appends the data of a frame; returns where it begins in the content of its stream.
  std::uint64_t add(std::uint64_t stream_id, BytesView data) {
    auto& bytes = streams_[stream_id].bytes;
    const auto begin = bytes.size();
    bytes.insert(bytes.end(), data.begin(), data.end());
    return begin;
  }

  /// Reads the contents that are DNS messages.
  void read(const Carrier& carrier, std::vector<DnsMessage>& messages) {
    for (auto& [id, stream] : streams_) {
      if (!is_dns_message(stream.bytes)) continue;
      auto message =
          read_dns_message(stream.bytes, stream.layout, 0, static_cast<std::uint32_t>(messages.size()));
      message.carrier = carrier;
      message.stream_id = id;
      messages.push_back(std::move(message));
    }
  }

  /// The names of a stream's content.
  const Layout& layout(std::uint64_t stream_id) { return streams_[stream_id].layout; }

 private:
  struct Stream {
    Bytes bytes;
    Layout layout;
  };
  std::map<std::uint64_t, Stream> streams_;
};

/// Where a frame's data stands in its own stream, and in the content.
struct HttpData {
  std::uint64_t offset = 0, length = 0, content_offset = 0;
};

/// Names the octets of a frame: header, data, padding or the payload as a whole.
void name_http_frame(Layout& layout, const HttpFrame& frame, std::uint32_t index, const HttpData& data,
                     HttpContent& content);

}  // namespace doxlab::dissect
