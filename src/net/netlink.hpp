#pragma once
/// What `ip link`, `ip addr` and `ip route` do, over rtnetlink, in the network namespace of the thread that
/// made the object.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/address.hpp"

struct mnl_socket;
struct nlmsghdr;

namespace doxlab::net {

class Netlink {
 public:
  /// Errors of all members: std::system_error naming the attempt.
  Netlink();

  void set_up(const std::string& device);
  void set_mtu(const std::string& device, std::uint32_t bytes);
  /// How many packets may wait in the device; a TUN device drops silently beyond it.
  void set_queue_length(const std::string& device, std::uint32_t packets);
  /// IPv6 addresses are usable at once: no duplicate address detection.
  void add_address(const std::string& device, const IpAddress& address, std::uint8_t prefix_bits);
  /// Everything of the family of `preferred_source` goes into the device, without a gateway. A name in
  /// `congestion_control` is what TCP over the route uses, even one that the namespace's setting refuses
  /// because the machine does not allow it to everyone; empty: the setting. `initial_window` is TCP's initial
  /// congestion window in segments (ip-route(8) initcwnd); 0: the kernel's 10 (RFC 6928).
  void add_default_route(const std::string& device, const IpAddress& preferred_source,
                         const std::string& congestion_control = {}, std::uint32_t initial_window = 0);

 private:
  void change_link(const std::string& device, bool up, std::optional<std::uint32_t> mtu,
                   std::optional<std::uint32_t> queue_length);
  void transact(nlmsghdr* message, const std::string& attempt);

  struct Close {
    void operator()(mnl_socket* socket) const;
  };
  std::unique_ptr<mnl_socket, Close> socket_;
  std::uint32_t sequence_ = 0;
};

/// Names of the devices in the calling thread's namespace, the loopback device among them.
std::vector<std::string> device_names();

}  // namespace doxlab::net
