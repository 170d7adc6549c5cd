#include "http/doh.hpp"

#include <algorithm>
#include <format>

namespace doxlab::http {
namespace {

constexpr std::string_view kMediaType = "application/dns-message";
constexpr std::size_t kDnsHeaderBytes = 12;
constexpr std::uint8_t kQrBit = 0x80;

constexpr std::string_view kServedMethods[] = {"GET", "HEAD", "POST"};
constexpr std::string_view kOtherMethods[] = {"PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH"};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

const Header* find_only(const std::vector<Header>& headers, std::string_view name, bool& repeated) {
  const Header* found = nullptr;
  for (const Header& header : headers) {
    if (header.name != name) continue;
    repeated = repeated || found != nullptr;
    found = &header;
  }
  return found;
}

/// True if there is exactly one content-type and it is application/dns-message, whatever its parameters.
bool has_dns_media_type(const std::vector<Header>& headers) {
  bool repeated = false;
  const Header* type = find_only(headers, "content-type", repeated);
  if (type == nullptr || repeated) return false;
  const std::string_view value = type->value;
  return equal_ignoring_case(trim(value.substr(0, value.find(';'))), kMediaType);
}

bool has_content_encoding(const std::vector<Header>& headers) {
  return std::ranges::any_of(headers, [](const Header& header) {
    return header.name == "content-encoding" && !equal_ignoring_case(trim(header.value), "identity");
  });
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Empty: a '%' without two hexadecimal digits (RFC 3986 §2.1).
std::optional<std::string> percent_decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_value(text[i + 1]), low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

std::unexpected<Response> refuse(int status, std::string_view sentence) {
  return std::unexpected(make_error_response(status, sentence));
}

std::expected<Bytes, Response> check_query(Bytes query) {
  if (query.size() < kDnsHeaderBytes) return refuse(400, "shorter than a DNS header");
  if ((query[2] & kQrBit) != 0) return refuse(400, "a DNS response, not a query");
  return query;
}

std::expected<Bytes, Response> read_get(const Request& request, std::string_view parameters) {
  if (!request.body.empty()) return refuse(400, "content in a GET request");
  std::optional<std::string> dns;
  while (!parameters.empty()) {
    const std::string_view parameter = parameters.substr(0, parameters.find('&'));
    parameters.remove_prefix(std::min(parameters.size(), parameter.size() + 1));
    const std::size_t equals = parameter.find('=');
    const auto name = percent_decode(parameter.substr(0, equals));
    if (!name) return refuse(400, "bad percent-encoding");
    if (*name != "dns") continue;
    if (dns) return refuse(400, "parameter dns given twice");
    dns = percent_decode(equals == std::string_view::npos ? "" : parameter.substr(equals + 1));
    if (!dns) return refuse(400, "bad percent-encoding");
  }
  if (!dns) return refuse(400, "parameter dns is missing");
  if (dns->empty()) return refuse(400, "parameter dns is empty");
  auto query = base64url_decode(*dns);
  if (!query) return refuse(400, "parameter dns: " + query.error().message);
  return check_query(std::move(*query));
}

std::expected<Bytes, Response> read_post(const Request& request) {
  if (request.body.size() > kMaxMessageBytes) return refuse(413, "longer than any DNS message");
  if (!has_dns_media_type(request.headers)) {
    return refuse(415, std::format("content-type must be {}", kMediaType));
  }
  if (has_content_encoding(request.headers)) return refuse(415, "content-encoding is not supported");
  if (request.body.empty()) return refuse(400, "empty body");
  return check_query(request.body);
}

}  // namespace

Request make_doh_request(BytesView query, bool get, std::string_view authority, std::string_view path) {
  Request request{.method = get ? "GET" : "POST",
                  .scheme = "https",
                  .authority = std::string(authority),
                  .path = std::string(path),
                  .headers = {{"accept", std::string(kMediaType)}},
                  .body = {}};
  if (get) {
    request.path += path.find('?') == std::string_view::npos ? "?dns=" : "&dns=";
    request.path += base64url_encode(query);
    return request;
  }
  request.headers.push_back({"content-type", std::string(kMediaType)});
  request.headers.push_back({"content-length", std::to_string(query.size())});
  request.body = to_bytes(query);
  return request;
}

std::expected<Bytes, Response> read_doh_request(const Request& request, std::string_view path) {
  if (request.path.size() > kMaxTargetBytes) return refuse(414, "request target too long");
  if (std::ranges::contains(kOtherMethods, request.method)) {
    Response response = make_error_response(405, "DNS over HTTPS knows GET, HEAD and POST");
    response.headers.push_back({"allow", "GET, HEAD, POST"});
    return std::unexpected(std::move(response));
  }
  if (!std::ranges::contains(kServedMethods, request.method)) return refuse(501, "unknown method");

  const std::string_view target = request.path;
  if (target.find('#') != std::string_view::npos) return refuse(400, "fragment in the request target");
  const std::size_t question_mark = target.find('?');
  const auto decoded_path = percent_decode(target.substr(0, question_mark));
  if (!decoded_path) return refuse(400, "bad percent-encoding");
  if (*decoded_path != path) return refuse(404, "no DNS service at this path");

  if (request.method == "POST") return read_post(request);
  return read_get(request, question_mark == std::string_view::npos ? "" : target.substr(question_mark + 1));
}

Response make_error_response(int status, std::string_view sentence) {
  const std::string text = std::format("{}\n", sentence);
  return {.status = status,
          .headers = {{"content-type", "text/plain; charset=utf-8"},
                      {"content-length", std::to_string(text.size())},
                      {"cache-control", "no-store"}},
          .body = to_bytes(as_bytes(text))};
}

Response make_doh_response(BytesView answer, std::optional<std::uint32_t> min_ttl) {
  return {.status = 200,
          .headers = {{"content-type", std::string(kMediaType)},
                      {"content-length", std::to_string(answer.size())},
                      {"cache-control", min_ttl ? std::format("max-age={}", *min_ttl) : "no-store"}},
          .body = to_bytes(answer)};
}

Result<Bytes> read_doh_response(const Response& response) {
  if (response.status < 200 || response.status > 299) {
    std::string reason = std::format("HTTP status {}", response.status);
    bool repeated = false;
    const Header* retry_after = find_only(response.headers, "retry-after", repeated);
    // Only a number is repeated to the user: the rest of the peer's text is not worth trusting.
    if (retry_after != nullptr && !retry_after->value.empty() && retry_after->value.size() < 10 &&
        std::ranges::all_of(retry_after->value, [](char c) { return c >= '0' && c <= '9'; })) {
      reason += std::format(", retry after {} s", retry_after->value);
    }
    return fail(std::move(reason));
  }
  if (!has_dns_media_type(response.headers)) return fail(std::format("response is not {}", kMediaType));
  if (has_content_encoding(response.headers)) return fail("response has a content-encoding");
  if (response.body.size() < kDnsHeaderBytes) {
    return fail(std::format("response of {} octets is shorter than a DNS header", response.body.size()));
  }
  if (response.body.size() > kMaxMessageBytes) return fail("response is longer than any DNS message");
  return response.body;
}

}  // namespace doxlab::http
