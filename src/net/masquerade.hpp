#pragma once
/// What leaves a network namespace gets the address of the device that it leaves through (source NAT), as a table of
/// nf_tables that belongs to the process: the kernel removes it when the process ends, even if it is killed.

#include <memory>
#include <optional>
#include <string>

#include "base/address.hpp"

struct mnl_socket;

namespace doxlab::net {

class Masquerade {
 public:
  /// In the namespace of the calling thread, for IPv6 or IPv4. Only packets from `source` are changed; empty: all. The name
  /// is the table's. Needs CAP_NET_ADMIN and Linux 5.12 (tables with an owner). Errors: std::system_error.
  Masquerade(const std::string& name, bool ipv6, const std::optional<IpAddress>& source);

 private:
  struct Close {
    void operator()(mnl_socket* socket) const;
  };
  std::unique_ptr<mnl_socket, Close> socket_;  ///< its end is the table's
};

}  // namespace doxlab::net
