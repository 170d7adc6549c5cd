#pragma once
/// Frames of HTTP/2 (RFC 9113) and HTTP/3 (RFC 9114) with their sizes. Header blocks are not decoded. The
/// content of a stream, its DATA frames put together, is read as a DNS message where it is one (RFC 8484).

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "dissect/carrier.hpp"
#include "dissect/dns_message.hpp"

namespace doxlab::dissect {

struct HttpFrame {
  Carrier carrier;
  std::uint8_t version = 2;          ///< 2 or 3
  std::uint64_t type = 0;            ///< DATA 0, HEADERS 1, SETTINGS 4, ... in both versions
  std::uint8_t flags = 0;            ///< HTTP/2
  std::uint64_t stream_id = 0;       ///< of HTTP/2, or of the QUIC stream
  std::uint64_t offset = 0;          ///< of its header, in the application's stream or in the QUIC stream
  std::uint32_t header_length = 0;   ///< 9 octets in HTTP/2
  std::uint64_t payload_length = 0;  ///< as announced
  std::uint32_t padding = 0;         ///< HTTP/2 DATA: pad length and padding
  bool is_complete = false;          ///< all of the payload is at hand
};
/// "DATA", "HEADERS", "SETTINGS", ...; "unknown".
std::string_view http_frame_name(const HttpFrame& frame);

/// What readers of HTTP append to.
struct HttpFindings {
  std::vector<HttpFrame>& frames;
  std::vector<DnsMessage>& messages;
};

/// True if a client's stream begins like HTTP/2.
bool looks_like_http2(BytesView client_stream);

/// Reads one direction of an HTTP/2 connection, the plaintext of its TLS records, and names its octets.
void read_http2(BytesView stream, const Carrier& carrier, HttpFindings out, Layout& layout);

/// Reads one direction of a QUIC stream of an HTTP/3 connection and names its octets.
void read_http3_stream(BytesView stream, const Carrier& carrier, std::uint64_t stream_id, HttpFindings out,
                       Layout& layout);

}  // namespace doxlab::dissect
