#include "lab/topology.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "net/netlink.hpp"
#include "net/sysctl.hpp"

namespace doxlab::lab {
namespace {

/// IPv6 does not work over a device with a smaller MTU (RFC 8200 §5).
constexpr std::size_t kSmallestIpv6Mtu = 1280;
/// Enough for every burst that a server's sockets can hold; the kernel's 500 are not.
constexpr std::uint32_t kQueueLength = 10000;

constexpr std::string_view kCongestionControl = "tcp_congestion_control";

struct Setting {
  std::string_view name;  ///< below /proc/sys/net
  std::string_view value;
};

/// Set before the device exists, so that it never sends anything of its own: no router solicitation, no
/// duplicate address detection, no link-local address and hence no multicast listener reports.
constexpr std::array kQuietIpv6 = {
    Setting{"ipv6/conf/default/accept_ra", "0"},     Setting{"ipv6/conf/default/router_solicitations", "0"},
    Setting{"ipv6/conf/default/accept_dad", "0"},    Setting{"ipv6/conf/default/dad_transmits", "0"},
    Setting{"ipv6/conf/default/addr_gen_mode", "1"}, Setting{"ipv6/conf/default/disable_ipv6", "0"},
    Setting{"ipv6/conf/all/disable_ipv6", "0"},
};

/// Chosen so that lookups do not influence each other and kernels agree; docs/method.md gives the reasons.
constexpr std::array kTcpDefaults = {
    Setting{"ipv4/tcp_syn_linear_timeouts", "0"}, Setting{"ipv4/tcp_congestion_control", "cubic"},
    Setting{"ipv4/tcp_no_metrics_save", "1"},     Setting{"ipv4/conf/all/rp_filter", "0"},
    Setting{"ipv4/conf/default/rp_filter", "0"},
};

constexpr std::array<std::string_view, 25> kReported = {
    "tcp_syn_linear_timeouts",
    "tcp_congestion_control",
    "tcp_no_metrics_save",
    "tcp_timestamps",
    "tcp_sack",
    "tcp_dsack",
    "tcp_ecn",
    "tcp_fastopen",
    "tcp_syn_retries",
    "tcp_synack_retries",
    "tcp_tw_reuse",
    "tcp_slow_start_after_idle",
    "tcp_early_retrans",
    "tcp_recovery",
    "tcp_frto",
    "tcp_thin_linear_timeouts",
    "tcp_rto_min_us",
    "tcp_rto_max_ms",
    "tcp_rmem",
    "tcp_wmem",
    "tcp_window_scaling",
    "tcp_autocorking",
    "tcp_mtu_probing",
    "tcp_syncookies",
    "ip_local_port_range",
};

/// Older kernels lack some of these; then their behaviour is what the value asks for.
void apply_defaults(std::span<const Setting> settings) {
  for (const auto& setting : settings)
    static_cast<void>(net::write_sysctl("net/" + std::string(setting.name), std::string(setting.value)));
}

void apply_chosen(const std::vector<std::pair<std::string, std::string>>& sysctls) {
  for (const auto& [name, value] : sysctls) {
    if (name == kCongestionControl) continue;
    if (const auto written = net::write_sysctl("net/ipv4/" + name, value); !written)
      throw std::runtime_error(written.error().message);
  }
}

/// Makes the chosen congestion control the namespace's own. Where the machine keeps it from namespaces
/// (tcp_allowed_congestion_control), returns its name for the routes, which may use any.
std::string choose_congestion_control(const LabOptions& options) {
  const auto chosen =
      std::ranges::find(options.sysctls, kCongestionControl, &std::pair<std::string, std::string>::first);
  const bool is_default = chosen == options.sysctls.end();
  const std::string name = is_default ? "cubic" : chosen->second;
  if (net::write_sysctl("net/ipv4/" + std::string(kCongestionControl), name)) return {};
  const auto available = net::read_sysctl("net/ipv4/tcp_available_congestion_control");
  if (available && (" " + *available + " ").contains(" " + name + " ")) return name;
  if (!is_default) throw std::runtime_error("congestion control " + name + ": the kernel does not have it");
  return {};
}

std::string configure(Side side, const LabOptions& options, std::optional<net::TunDevice>& device) {
  net::Netlink netlink;
  netlink.set_up("lo");
  apply_defaults(kQuietIpv6);
  apply_defaults(kTcpDefaults);
  apply_chosen(options.sysctls);
  auto congestion_control_of_routes = choose_congestion_control(options);

  device.emplace("lab0");
  const auto& name = device->name();
  netlink.set_mtu(name, static_cast<std::uint32_t>(options.impairments.mtu));
  netlink.set_queue_length(name, kQueueLength);
  netlink.set_up(name);

  const bool has_ipv6 =
      options.impairments.mtu >= kSmallestIpv6Mtu && net::read_sysctl("net/ipv6/bindv6only");
  for (const bool ipv6 : {false, true}) {
    if (ipv6 && !has_ipv6) continue;
    const std::uint8_t prefix_bits = ipv6 ? 128 : 32;
    const auto first = side == Side::Server ? Lab::server_address(ipv6) : Lab::client_address(ipv6);
    netlink.add_address(name, first, prefix_bits);
    for (std::size_t k = 2; side == Side::Client && k <= Lab::kClientAddresses; ++k)
      netlink.add_address(name, Lab::client_address(ipv6, k), prefix_bits);
    if (side == Side::Server && options.beyond)  // the way out has the default route
      netlink.add_route(name, ipv6 ? Lab::client_address(true, 0) : Lab::client_address(false, 0), ipv6 ? 64 : 24);
    else
      netlink.add_default_route(name, first, congestion_control_of_routes, options.tcp_initial_window);
  }
  return congestion_control_of_routes;
}

}  // namespace

End make_end(Side side, const LabOptions& options) {
  auto network = net::NetworkNamespace::make();
  std::optional<net::TunDevice> device;
  std::string congestion_control;
  network.run([&] { congestion_control = configure(side, options, device); });
  return {std::move(network), std::move(*device), std::move(congestion_control)};
}

std::vector<std::pair<std::string, std::string>> read_kernel_settings() {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const auto name : kReported)
    if (auto value = net::read_sysctl("net/ipv4/" + std::string(name))) settings.emplace_back(name, std::move(*value));
  return settings;
}

std::vector<std::pair<std::string, std::string>> read_kernel_settings(const End& end) {
  std::vector<std::pair<std::string, std::string>> settings;
  end.network.run([&] { settings = read_kernel_settings(); });
  for (auto& [name, value] : settings)
    if (name == kCongestionControl && !end.congestion_control_of_routes.empty())
      value = end.congestion_control_of_routes + " (set on the routes)";
  return settings;
}

}  // namespace doxlab::lab
