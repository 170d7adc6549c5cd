#pragma once
/// IP addresses and socket addresses as plain values, and their text forms.

#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace doxlab {

/// An IPv4 or IPv6 address. IPv4 occupies the first 4 of 16 octets; the rest are zero.
class IpAddress {
 public:
  IpAddress() = default;
  static IpAddress v4(std::array<std::uint8_t, 4> octets);
  static IpAddress v6(std::array<std::uint8_t, 16> octets);
  /// Errors: text that is neither dotted IPv4 nor IPv6 (RFC 4291 §2.2), without brackets or zone.
  static Result<IpAddress> parse(std::string_view text);
  /// From 4 or 16 octets of a packet header; the caller guarantees the length.
  static IpAddress from_octets(BytesView octets);

  bool is_v6() const { return is_v6_; }
  BytesView octets() const { return {octets_.data(), is_v6_ ? 16u : 4u}; }
  std::string to_string() const;
  auto operator<=>(const IpAddress&) const = default;

 private:
  bool is_v6_ = false;
  std::array<std::uint8_t, 16> octets_{};
};

/// An address and a port.
struct SocketAddress {
  IpAddress ip;
  std::uint16_t port = 0;

  /// "192.0.2.1:53" or "[2001:db8::1]:53".
  std::string to_string() const;
  auto operator<=>(const SocketAddress&) const = default;
};

/// A kernel sockaddr with its length; what bind(2), connect(2) and ngtcp2 paths take.
struct KernelAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

KernelAddress to_kernel(const SocketAddress& address);
/// The caller guarantees AF_INET or AF_INET6.
SocketAddress from_kernel(const sockaddr* address);

}  // namespace doxlab

template <>
struct std::hash<doxlab::SocketAddress> {
  std::size_t operator()(const doxlab::SocketAddress& address) const noexcept;
};
