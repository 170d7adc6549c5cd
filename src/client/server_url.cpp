#include "client/server_url.hpp"

#include <charconv>
#include <format>

#include "base/address.hpp"
#include "dnscrypt/stamp.hpp"

namespace doxlab::client {
namespace {

std::optional<Transport> transport_of_scheme(std::string_view scheme) {
  for (auto t : kAllTransports)
    if (url_scheme(t) == scheme) return t;
  return std::nullopt;
}

Result<std::uint16_t> parse_port(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0 || value > 65535)
    return fail(std::format("'{}' is no port", text));
  return static_cast<std::uint16_t>(value);
}

ServerUrl from_stamp(const dnscrypt::Stamp& stamp) {
  return {.transport = Transport::Dnscrypt,
          .host = stamp.address.ip.to_string(),
          .port = stamp.address.port,
          .provider_name = stamp.provider_name,
          .provider_key = stamp.provider_key};
}

}  // namespace

Result<ServerUrl> parse_server_url(std::string_view text) {
  if (text.starts_with("sdns://")) {
    const auto stamp = dnscrypt::parse_stamp(text);
    if (!stamp) return std::unexpected(stamp.error());
    return from_stamp(*stamp);
  }
  ServerUrl out;
  auto rest = text;
  if (const auto colon = rest.find("://"); colon != std::string_view::npos) {
    const auto transport = transport_of_scheme(rest.substr(0, colon));
    if (!transport)
      return fail(std::format("'{}' is no scheme; they are udp, tcp, tls, https, h3, quic, dnscrypt, dnscrypt-tcp, sdns", rest.substr(0, colon)));
    out.transport = *transport;
    rest.remove_prefix(colon + 3);
  }
  out.port = default_port(out.transport);
  if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
    if (out.transport != Transport::Doh && out.transport != Transport::Doh3)
      return fail(std::format("{} has no path, but '{}' was given", display_name(out.transport), rest.substr(slash)));
    if (slash + 1 < rest.size()) out.path = rest.substr(slash);
    rest = rest.substr(0, slash);
  }
  std::optional<std::string_view> port;
  if (rest.starts_with('[')) {
    const auto close = rest.find(']');
    if (close == std::string_view::npos) return fail(std::format("'{}': ']' is missing", text));
    out.host = rest.substr(1, close - 1);
    const auto after = rest.substr(close + 1);
    if (after.starts_with(':')) port = after.substr(1);
    else if (!after.empty()) return fail(std::format("'{}': only ':PORT' may follow ']'", text));
  } else if (IpAddress::parse(rest)) {
    out.host = rest;  // a bare IPv6 address, or IPv4 without port
  } else {
    const auto colon = rest.rfind(':');
    out.host = rest.substr(0, colon);
    if (colon != std::string_view::npos) port = rest.substr(colon + 1);
  }
  if (port) {
    const auto number = parse_port(*port);
    if (!number) return fail(std::format("'{}': {}", text, number.error().message));
    out.port = *number;
  }
  if (out.host.empty()) return fail(std::format("'{}' names no host", text));
  return out;
}

}  // namespace doxlab::client
