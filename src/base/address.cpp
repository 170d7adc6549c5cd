#include "base/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <format>

namespace doxlab {

IpAddress IpAddress::v4(std::array<std::uint8_t, 4> octets) { return from_octets(octets); }

IpAddress IpAddress::v6(std::array<std::uint8_t, 16> octets) { return from_octets(octets); }

IpAddress IpAddress::from_octets(BytesView octets) {
  IpAddress out;
  out.is_v6_ = octets.size() == 16;
  std::copy_n(octets.begin(), std::min<std::size_t>(octets.size(), 16), out.octets_.begin());
  return out;
}

Result<IpAddress> IpAddress::parse(std::string_view text) {
  const std::string copy(text);
  std::array<std::uint8_t, 16> octets{};
  if (inet_pton(AF_INET, copy.c_str(), octets.data()) == 1) return from_octets(BytesView(octets).first(4));
  if (inet_pton(AF_INET6, copy.c_str(), octets.data()) == 1) return from_octets(octets);
  return fail(std::format("'{}' is not an IPv4 or IPv6 address", text));
}

std::string IpAddress::to_string() const {
  char text[INET6_ADDRSTRLEN]{};
  inet_ntop(is_v6_ ? AF_INET6 : AF_INET, octets_.data(), text, sizeof text);
  return text;
}

std::string SocketAddress::to_string() const {
  return ip.is_v6() ? std::format("[{}]:{}", ip.to_string(), port) : std::format("{}:{}", ip.to_string(), port);
}

KernelAddress to_kernel(const SocketAddress& address) {
  KernelAddress out;
  if (address.ip.is_v6()) {
    auto* in6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(address.port);
    std::memcpy(&in6->sin6_addr, address.ip.octets().data(), 16);
    out.length = sizeof(sockaddr_in6);
  } else {
    auto* in = reinterpret_cast<sockaddr_in*>(&out.storage);
    in->sin_family = AF_INET;
    in->sin_port = htons(address.port);
    std::memcpy(&in->sin_addr, address.ip.octets().data(), 4);
    out.length = sizeof(sockaddr_in);
  }
  return out;
}

SocketAddress from_kernel(const sockaddr* address) {
  if (address->sa_family == AF_INET6) {
    const auto* in6 = reinterpret_cast<const sockaddr_in6*>(address);
    return {IpAddress::from_octets({in6->sin6_addr.s6_addr, 16}), ntohs(in6->sin6_port)};
  }
  const auto* in = reinterpret_cast<const sockaddr_in*>(address);
  return {IpAddress::from_octets({reinterpret_cast<const std::uint8_t*>(&in->sin_addr), 4}), ntohs(in->sin_port)};
}

}  // namespace doxlab

std::size_t std::hash<doxlab::SocketAddress>::operator()(const doxlab::SocketAddress& address) const noexcept {
  return std::hash<std::string_view>{}(doxlab::as_text(address.ip.octets())) * 31 + address.port;
}
