// A DoH request as the HTTP layers hand it over: method, target, one header field and body, separated by NUL.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "http/doh.hpp"

using namespace doxlab;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

std::string take_text(BytesView& rest) {
  const auto end = std::ranges::find(rest, 0);
  const std::string text(rest.begin(), end);
  rest = rest.subspan(std::min(text.size() + 1, rest.size()));
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  BytesView rest(data, size);
  if (const auto bytes = http::base64url_decode(as_text(rest))) {
    require(http::base64url_encode(*bytes) == as_text(rest));
  }
  http::Request request{.method = take_text(rest), .scheme = "https", .authority = "a", .path = take_text(rest)};
  const std::string type = take_text(rest);
  if (!type.empty()) request.headers.push_back({"content-type", type});
  request.body = to_bytes(rest);

  const auto query = http::read_doh_request(request, "/dns-query");
  if (query) {
    require(query->size() >= 12 && query->size() <= http::kMaxMessageBytes && ((*query)[2] & 0x80) == 0);
    // What was understood can be said again.
    require(http::read_doh_request(http::make_doh_request(*query, false, "a", "/dns-query"), "/dns-query") == *query);
  } else {
    constexpr std::array kStatuses = {400, 404, 405, 413, 414, 415, 501};
    require(std::ranges::contains(kStatuses, query.error().status));
    require(!query.error().body.empty());
  }

  http::Response response{.status = size > 0 ? data[0] * 4 : 0, .headers = request.headers, .body = request.body};
  const auto answer = http::read_doh_response(response);
  require(answer ? answer->size() >= 12 : !answer.error().message.empty());
  return 0;
}
