#pragma once
/// How a server is written: udp|tcp|tls|https|h3|quic://HOST[:PORT][/path], IPv6 in brackets.

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "transport/transport.hpp"

namespace doxlab::client {

struct ServerUrl {
  Transport transport = Transport::Do53;
  std::string host;              ///< a name or an address, without brackets
  std::uint16_t port = 0;
  std::string path = "/dns-query";  ///< DoH and DoH3
};

/// Without a scheme it is udp. Errors: unknown scheme, empty host, bad port, a path where none belongs.
Result<ServerUrl> parse_server_url(std::string_view text);

}  // namespace doxlab::client
