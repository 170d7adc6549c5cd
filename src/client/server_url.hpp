#pragma once
/// How a server is written: udp|tcp|tls|https|h3|quic|dnscrypt|dnscrypt-tcp://HOST[:PORT][/path], IPv6 in
/// brackets; or a DNSCrypt stamp, sdns://...

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "dnscrypt/keys.hpp"
#include "transport/transport.hpp"

namespace doxlab::client {

struct ServerUrl {
  Transport transport = Transport::Do53;
  std::string host;              ///< a name or an address, without brackets
  std::uint16_t port = 0;
  std::string path = "/dns-query";  ///< DoH and DoH3
  std::string provider_name;        ///< DNSCrypt, from a stamp; else empty
  std::optional<dnscrypt::PublicKey> provider_key;
};

/// Without a scheme it is udp. Errors: unknown scheme, empty host, bad port, a path where none belongs, a stamp
/// that cannot be read or is for another protocol.
Result<ServerUrl> parse_server_url(std::string_view text);

}  // namespace doxlab::client
