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

/// base64url without padding (RFC 4648 §5).
std::string base64url_encode(BytesView bytes);
/// Errors: a character outside the alphabet, '=' or impossible length. Trailing bits must be zero.
Result<Bytes> base64url_decode(std::string_view text);

/// The request for a DNS query: POST with content-type and content-length, or GET with `dns=`.
Request make_doh_request(BytesView query, bool get, std::string_view authority, std::string_view path);

/// The DNS query of a request, or the error response it deserves (with a text body): 400, 404, 405 with
/// Allow, 413, 414, 415, as RFC 9110 and 8484 ask. Size checks come before decoding.
std::expected<Bytes, Response> read_doh_request(const Request& request, std::string_view path);

/// The 200 response for a DNS answer: content-type, content-length, cache-control from the smallest TTL
/// that `min_ttl` gives (RFC 8484 §5.1).
Response make_doh_response(BytesView answer, std::optional<std::uint32_t> min_ttl);

/// The DNS message of a response. Errors: status other than 2xx, wrong media type, shorter than a DNS
/// header, longer than 65,535; the sentence says which.
Result<Bytes> read_doh_response(const Response& response);

}  // namespace doxlab::http
