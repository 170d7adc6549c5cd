#pragma once
/// What `ip link`, `ip addr` and `ip route` do, over rtnetlink, in the network namespace of the thread that
/// made the object.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/address.hpp"
#include "net/network_namespace.hpp"

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
  /// To a network of the device's own, without a gateway.
  void add_route(const std::string& device, const IpAddress& network, std::uint8_t prefix_bits);
  /// Everything of the gateway's family goes through it.
  void add_default_gateway(const std::string& device, const IpAddress& gateway);
  /// A cable between this namespace and another: what goes into one device comes out of the other (veth(4)). It goes with
  /// either device, and so with either namespace.
  void add_cable(const std::string& device, const std::string& peer, const NetworkNamespace& namespace_of_peer);
  void remove(const std::string& device);

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
/// The device that packets to the address leave this namespace through, without asking a gateway's gateway; empty: there is
/// no way. Sends nothing.
std::string device_towards(const IpAddress& address);
/// 127.0.0.0/8 and ::1.
bool is_loopback(const IpAddress& address);
/// Whether the address is this namespace's own: of a device, loopback among them.
bool is_own_address(const IpAddress& address);

}  // namespace doxlab::net
