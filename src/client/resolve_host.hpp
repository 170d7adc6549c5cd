#pragma once
/// Finds the address of a server that was given by name, from /etc/hosts and the name servers of
/// /etc/resolv.conf. The static binary cannot use getaddrinfo(3), which loads the machine's glibc modules.

#include <string>

#include "base/address.hpp"
#include "base/error.hpp"

namespace doxlab::client {

/// An address for `host`: itself if it is one, else IPv4 before IPv6. Errors: which file or server said no.
Result<IpAddress> resolve_host(const std::string& host);

/// The same with the files' text given, for tests: `hosts` and `resolv_conf` in their formats.
Result<IpAddress> resolve_host(const std::string& host, const std::string& hosts, const std::string& resolv_conf);

}  // namespace doxlab::client
