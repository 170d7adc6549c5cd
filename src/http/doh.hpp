#pragma once
/// DoH requests and responses (RFC 8484) as values, the same for every version of HTTP: what a request
/// must look like, which status each fault gets, base64url.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace doxlab::http {

struct Header {
  std::string name;   ///< lower case; pseudo-headers begin with ':'
  std::string value;
};

struct Request {
  std::string method, scheme, authority, path;  ///< path with query
  std::vector<Header> headers;
  Bytes body;
};

struct Response {
  int status = 0;
  std::vector<Header> headers;
  Bytes body;
};

/// The longest DNS message (RFC 1035 §4.2.2), so the longest body in either direction.
inline constexpr std::size_t kMaxMessageBytes = 65535;
/// The longest request target. RFC 9110 §4.1 asks for 8,000 octets at least; a query of 6,100 fits.
inline constexpr std::size_t kMaxTargetBytes = 8192;

/// base64url without padding (RFC 4648 §5).
std::string base64url_encode(BytesView bytes);
/// Errors: a character outside the alphabet, '=' or impossible length. Trailing bits must be zero.
Result<Bytes> base64url_decode(std::string_view text);

/// The request for a DNS query: POST with content-type and content-length, or GET with `dns=`. It says
/// nothing more than RFC 8484 asks for: no user agent, no cookies, no referrer (§8.2).
Request make_doh_request(BytesView query, bool get, std::string_view authority, std::string_view path);

/// The DNS query of a request, or the error response it deserves (with a text body):
///   400  `dns` missing, given twice, empty, padded or not base64url; empty body; shorter than a DNS
///        header; a DNS response; content in GET or HEAD; fragment or bad percent-encoding
///   404  another path           405  a known method other than GET, HEAD and POST; with Allow
///   413  body over 65,535       414  target over kMaxTargetBytes
///   415  POST of another media type, or with a content-encoding
///   501  a method nobody knows
/// as RFC 9110 §15 and RFC 8484 §4 ask. Size checks come before decoding. `dns` must come without
/// padding, as RFC 8484 §4.1 says; its name is case-sensitive; other parameters are ignored, so is any
/// parameter of a POST. Any DNS message with a header that says "query" is passed on: what else is wrong
/// with it is told by an RCODE. HEAD counts as GET; who sends the response leaves the body out.
std::expected<Bytes, Response> read_doh_request(const Request& request, std::string_view path);

/// A response with a status and a sentence as text/plain, content-length, never cached.
Response make_error_response(int status, std::string_view sentence);

/// The 200 response for a DNS answer: content-type, content-length, cache-control from the smallest TTL
/// that `min_ttl` gives (RFC 8484 §5.1); without one, no-store.
Response make_doh_response(BytesView answer, std::optional<std::uint32_t> min_ttl);

/// The DNS message of a response. Errors: status other than 2xx (redirects are not followed), wrong media
/// type, a content-encoding, shorter than a DNS header, longer than 65,535; the sentence says which.
Result<Bytes> read_doh_response(const Response& response);

}  // namespace doxlab::http
