#include "lab/way_out.hpp"

#include <unistd.h>

#include <format>
#include <optional>
#include <stdexcept>

#include "net/forwarding.hpp"
#include "net/masquerade.hpp"
#include "net/netlink.hpp"
#include "net/sysctl.hpp"

namespace doxlab::lab {
namespace {

constexpr const char* kDeviceInLab = "out0";

/// Two addresses for the cable, by the process's number so that labs do not meet: link-local ones (RFC 3927) below those
/// that clouds use, unique local ones (RFC 4193).
struct Cable {
  explicit Cable(bool ipv6) : prefix_bits(ipv6 ? 126 : 30) {
    const auto number = static_cast<unsigned>(::getpid()) % 4096;
    const auto high = static_cast<std::uint8_t>(number >> 8), low = static_cast<std::uint8_t>(number);
    const auto address = [&](std::uint8_t host) {
      if (!ipv6) return IpAddress::v4({169, 254, static_cast<std::uint8_t>(64 + number / 64), static_cast<std::uint8_t>(number % 64 * 4 + host)});
      return IpAddress::v6({0xfd, 0x66, 0, 2, high, low, 0, 0, 0, 0, 0, 0, 0, 0, 0, host});
    };
    here = address(1);
    in_lab = address(2);
  }
  std::uint8_t prefix_bits;
  IpAddress here, in_lab;
};

std::string name_here() { return std::format("doxlab{}", ::getpid()); }

/// Errors: std::runtime_error if the address cannot be reached this way; else the device that leads there.
std::string check_destination(const IpAddress& destination) {
  const auto device = net::device_towards(destination);
  if (device.empty())
    throw std::runtime_error(std::format("{} cannot be reached from this machine: there is no route to it", destination.to_string()));
  if (device == "lo" && !net::is_own_address(destination)) throw std::runtime_error(destination.to_string() + " is no address of a server");
  if (destination.is_v6() && net::read_sysctl("net/ipv6/conf/all/forwarding").value_or("0") == "0")
    throw std::runtime_error(
        "this machine does not forward IPv6 (net.ipv6.conf.all.forwarding is 0), and doxlab does not switch that on, since the machine would "
        "then ignore router advertisements; give an IPv4 address, or set it if this machine's routes do not come from such");
  return device;
}

}  // namespace

struct WayOut::State {
  ~State() {
    // The kernel takes a while to clear up namespaces; the cable goes at once.
    if (!has_cable) return;
    try {
      net::Netlink().remove(name_here());
    } catch (const std::system_error&) {  // somebody else has removed it
    }
  }
  bool has_cable = false;
  std::optional<net::Forwarding> towards;
  std::optional<net::Masquerade> here, in_lab;
};

WayOut::WayOut(const net::NetworkNamespace& server, const IpAddress& destination) : state_(std::make_unique<State>()) {
  const auto towards = check_destination(destination);
  const bool ipv6 = destination.is_v6();
  const Cable cable(ipv6);
  if (!ipv6 && !net::is_own_address(destination)) state_->towards.emplace(towards);
  const auto device = name_here();
  net::Netlink netlink;
  netlink.add_cable(device, kDeviceInLab, server);
  state_->has_cable = true;
  netlink.add_address(device, cable.here, cable.prefix_bits);
  netlink.set_up(device);
  if (!ipv6) static_cast<void>(net::write_sysctl("net/ipv4/conf/" + device + "/forwarding", "1"));
  state_->here.emplace(device, ipv6, cable.in_lab);
  server.run([&] {
    net::Netlink there;
    there.add_address(kDeviceInLab, cable.in_lab, cable.prefix_bits);
    there.set_up(kDeviceInLab);
    there.add_default_gateway(kDeviceInLab, cable.here);
    const auto name = ipv6 ? "net/ipv6/conf/all/forwarding" : "net/ipv4/ip_forward";
    if (const auto set = net::write_sysctl(name, "1"); !set) throw std::runtime_error(set.error().message);
    state_->in_lab.emplace("doxlab", ipv6, std::nullopt);
  });
}

WayOut::~WayOut() = default;

}  // namespace doxlab::lab
