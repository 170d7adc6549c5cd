#include "net/netlink.hpp"

#include <ifaddrs.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/socket.h>

#include <array>

#include "net/file_descriptor.hpp"
#include "net/system_error.hpp"

namespace doxlab::net {
namespace {

/// Room for one request; the largest here is below 200 octets.
using Buffer = std::array<char, 1024>;

std::uint32_t index_of(const std::string& device) {
  const auto index = ::if_nametoindex(device.c_str());
  if (index == 0) throw_errno("find device " + device);
  return index;
}

nlmsghdr* begin(Buffer& buffer, std::uint16_t type, std::uint16_t flags) {
  auto* message = mnl_nlmsg_put_header(buffer.data());
  message->nlmsg_type = type;
  message->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
  return message;
}

template <class Header>
Header* put_header(nlmsghdr* message) {
  return static_cast<Header*>(mnl_nlmsg_put_extra_header(message, sizeof(Header)));
}

void put_address(nlmsghdr* message, std::uint16_t type, const IpAddress& address) {
  mnl_attr_put(message, type, address.octets().size(), address.octets().data());
}

std::uint8_t family_of(const IpAddress& address) {
  return address.is_v6() ? AF_INET6 : AF_INET;
}

/// The scope of a route without a gateway.
std::uint8_t on_link(const IpAddress& address) {
  return address.is_v6() ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
}

/// A new route through a device; what it leads to is the caller's.
nlmsghdr* begin_route(Buffer& buffer, const std::string& device, std::uint8_t family, std::uint8_t prefix_bits,
                      std::uint8_t scope) {
  auto* message = begin(buffer, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
  auto* header = put_header<rtmsg>(message);
  header->rtm_family = family;
  header->rtm_dst_len = prefix_bits;
  header->rtm_table = RT_TABLE_MAIN;
  header->rtm_protocol = RTPROT_STATIC;
  header->rtm_scope = scope;
  header->rtm_type = RTN_UNICAST;
  mnl_attr_put_u32(message, RTA_OIF, index_of(device));
  return message;
}

}  // namespace

void Netlink::Close::operator()(mnl_socket* socket) const {
  mnl_socket_close(socket);
}

Netlink::Netlink() : socket_(mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC)) {
  if (!socket_) throw_errno("open a netlink socket");
  checked(mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID), "bind a netlink socket");
}

void Netlink::set_up(const std::string& device) {
  change_link(device, true, {}, {});
}

void Netlink::set_mtu(const std::string& device, std::uint32_t bytes) {
  change_link(device, false, bytes, {});
}

void Netlink::set_queue_length(const std::string& device, std::uint32_t packets) {
  change_link(device, false, {}, packets);
}

void Netlink::add_address(const std::string& device, const IpAddress& address, std::uint8_t prefix_bits) {
  Buffer buffer;
  auto* message = begin(buffer, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
  auto* header = put_header<ifaddrmsg>(message);
  header->ifa_family = family_of(address);
  header->ifa_prefixlen = prefix_bits;
  header->ifa_scope = RT_SCOPE_UNIVERSE;
  header->ifa_index = index_of(device);
  put_address(message, IFA_LOCAL, address);
  put_address(message, IFA_ADDRESS, address);
  mnl_attr_put_u32(message, IFA_FLAGS, IFA_F_NODAD | IFA_F_PERMANENT);
  transact(message, "add address " + address.to_string() + " to device " + device);
}

void Netlink::add_default_route(const std::string& device, const IpAddress& preferred_source,
                                const std::string& congestion_control, std::uint32_t initial_window) {
  Buffer buffer;
  auto* message = begin_route(buffer, device, family_of(preferred_source), 0, on_link(preferred_source));
  put_address(message, RTA_PREFSRC, preferred_source);
  if (!congestion_control.empty() || initial_window != 0) {
    auto* metrics = mnl_attr_nest_start(message, RTA_METRICS);
    if (!congestion_control.empty()) mnl_attr_put_strz(message, RTAX_CC_ALGO, congestion_control.c_str());
    if (initial_window != 0) mnl_attr_put_u32(message, RTAX_INITCWND, initial_window);
    mnl_attr_nest_end(message, metrics);
  }
  transact(message, "add the default route through device " + device +
                        (congestion_control.empty() ? "" : " with congestion control " + congestion_control));
}

void Netlink::add_route(const std::string& device, const IpAddress& network, std::uint8_t prefix_bits) {
  Buffer buffer;
  auto* message = begin_route(buffer, device, family_of(network), prefix_bits, on_link(network));
  put_address(message, RTA_DST, network);
  transact(message, "add a route to " + network.to_string() + " through device " + device);
}

void Netlink::add_default_gateway(const std::string& device, const IpAddress& gateway) {
  Buffer buffer;
  auto* message = begin_route(buffer, device, family_of(gateway), 0, RT_SCOPE_UNIVERSE);
  put_address(message, RTA_GATEWAY, gateway);
  transact(message, "add the default route through " + gateway.to_string());
}

void Netlink::add_cable(const std::string& device, const std::string& peer, const NetworkNamespace& namespace_of_peer) {
  Buffer buffer;
  auto* message = begin(buffer, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
  put_header<ifinfomsg>(message)->ifi_family = AF_UNSPEC;
  mnl_attr_put_strz(message, IFLA_IFNAME, device.c_str());
  auto* info = mnl_attr_nest_start(message, IFLA_LINKINFO);
  mnl_attr_put_strz(message, IFLA_INFO_KIND, "veth");
  auto* data = mnl_attr_nest_start(message, IFLA_INFO_DATA);
  auto* of_peer = mnl_attr_nest_start(message, VETH_INFO_PEER);
  put_header<ifinfomsg>(message)->ifi_family = AF_UNSPEC;
  mnl_attr_put_strz(message, IFLA_IFNAME, peer.c_str());
  mnl_attr_put_u32(message, IFLA_NET_NS_FD, static_cast<std::uint32_t>(namespace_of_peer.descriptor()));
  mnl_attr_nest_end(message, of_peer);
  mnl_attr_nest_end(message, data);
  mnl_attr_nest_end(message, info);
  transact(message, "make the devices " + device + " and " + peer + " (needs root)");
}

void Netlink::remove(const std::string& device) {
  Buffer buffer;
  auto* message = begin(buffer, RTM_DELLINK, 0);
  auto* header = put_header<ifinfomsg>(message);
  header->ifi_family = AF_UNSPEC;
  header->ifi_index = static_cast<int>(index_of(device));
  transact(message, "remove device " + device);
}

void Netlink::change_link(const std::string& device, bool up, std::optional<std::uint32_t> mtu,
                          std::optional<std::uint32_t> queue_length) {
  Buffer buffer;
  auto* message = begin(buffer, RTM_NEWLINK, 0);
  auto* header = put_header<ifinfomsg>(message);
  header->ifi_family = AF_UNSPEC;
  header->ifi_index = static_cast<int>(index_of(device));
  if (up) header->ifi_change = header->ifi_flags = IFF_UP;
  if (mtu) mnl_attr_put_u32(message, IFLA_MTU, *mtu);
  if (queue_length) mnl_attr_put_u32(message, IFLA_TXQLEN, *queue_length);
  transact(message, "change device " + device + (mtu ? " to MTU " + std::to_string(*mtu) : ""));
}

void Netlink::transact(nlmsghdr* message, const std::string& attempt) {
  message->nlmsg_seq = ++sequence_;
  if (mnl_socket_sendto(socket_.get(), message, message->nlmsg_len) < 0) throw_errno(attempt);
  std::array<char, 8192> reply;
  while (true) {
    const auto length = mnl_socket_recvfrom(socket_.get(), reply.data(), reply.size());
    if (length < 0) throw_errno(attempt);
    const auto verdict = mnl_cb_run(reply.data(), static_cast<std::size_t>(length), sequence_,
                                    mnl_socket_get_portid(socket_.get()), nullptr, nullptr);
    if (verdict < 0) throw_errno(attempt);
    if (verdict == MNL_CB_STOP) return;
  }
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  const std::unique_ptr<struct if_nameindex, decltype(&::if_freenameindex)> list(::if_nameindex(),
                                                                                 &::if_freenameindex);
  if (!list) throw_errno("list the network devices");
  for (const auto* entry = list.get(); entry->if_index != 0; ++entry) names.emplace_back(entry->if_name);
  return names;
}

namespace {

using InterfaceAddresses = std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)>;

InterfaceAddresses interface_addresses() {
  ifaddrs* list = nullptr;
  checked(::getifaddrs(&list), "list the addresses of this machine");
  return {list, &::freeifaddrs};
}

/// Calls `visit(device, address)` for each address of the namespace.
template <class Visit>
void for_each_own_address(Visit visit) {
  const auto list = interface_addresses();
  for (const auto* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const auto family = entry->ifa_addr->sa_family;
    if (family == AF_INET || family == AF_INET6) visit(entry->ifa_name, from_kernel(entry->ifa_addr).ip);
  }
}

}  // namespace

bool is_loopback(const IpAddress& address) {
  if (!address.is_v6()) return address.octets()[0] == 127;
  return address == IpAddress::v6({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
}

std::string device_towards(const IpAddress& address) {
  const auto to = to_kernel({address, 9});
  const FileDescriptor socket(checked(::socket(to.get()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), "make a UDP socket"));
  KernelAddress local;
  local.length = sizeof local.storage;
  if (::connect(socket.get(), to.get(), to.length) < 0 || ::getsockname(socket.get(), local.get(), &local.length) < 0) return {};
  const auto mine = from_kernel(local.get()).ip;
  std::string out;
  for_each_own_address([&](const char* device, const IpAddress& own) {
    if (own == mine && out.empty()) out = device;
  });
  return out;
}

bool is_own_address(const IpAddress& address) {
  bool found = is_loopback(address);
  for_each_own_address([&](const char*, const IpAddress& own) { found = found || own == address; });
  return found;
}

}  // namespace doxlab::net
