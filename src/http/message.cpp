#include "http/message.hpp"

namespace doxlab::http {
namespace {

bool is_pseudo(std::string_view name) {
  return name.starts_with(':');
}

bool has_authority(const Request& request) {
  return !request.authority.empty();
}

}  // namespace

std::vector<Header> to_fields(const Request& request) {
  std::vector<Header> fields = {{":method", request.method}, {":scheme", request.scheme}};
  if (has_authority(request)) fields.push_back({":authority", request.authority});
  fields.push_back({":path", request.path});
  fields.insert(fields.end(), request.headers.begin(), request.headers.end());
  return fields;
}

std::vector<Header> to_fields(const Response& response) {
  std::vector<Header> fields = {{":status", std::to_string(response.status)}};
  fields.insert(fields.end(), response.headers.begin(), response.headers.end());
  return fields;
}

void add_field(Request& request, std::string_view name, std::string_view value) {
  if (name == ":method") request.method = value;
  if (name == ":scheme") request.scheme = value;
  if (name == ":authority") request.authority = value;
  if (name == ":path") request.path = value;
  if (is_pseudo(name)) return;
  // A request that was translated from HTTP/1.1 may carry only Host (RFC 9113 §8.3.1).
  if (name == "host" && !has_authority(request)) request.authority = value;
  request.headers.push_back({std::string(name), std::string(value)});
}

void add_field(Response& response, std::string_view name, std::string_view value) {
  if (name == ":status") std::from_chars(value.data(), value.data() + value.size(), response.status);
  if (is_pseudo(name)) return;
  response.headers.push_back({std::string(name), std::string(value)});
}

std::optional<std::uint64_t> announced_length(const std::vector<Header>& headers) {
  for (const Header& header : headers) {
    if (header.name != "content-length") continue;
    std::uint64_t length = 0;
    const char* end = header.value.data() + header.value.size();
    const auto [at, error] = std::from_chars(header.value.data(), end, length);
    if (error == std::errc{} && at == end) return length;
  }
  return std::nullopt;
}

}  // namespace doxlab::http
