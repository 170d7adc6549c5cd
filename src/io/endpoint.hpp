#pragma once
/// Between doxlab's addresses and Asio's.

#include <asio/ip/tcp.hpp>
#include <asio/ip/udp.hpp>
#include <cstring>
#include <system_error>

#include "base/address.hpp"

namespace doxlab::io {

template <class AsioEndpoint>
AsioEndpoint to_asio(const SocketAddress& address) {
  const auto kernel = to_kernel(address);
  AsioEndpoint out;
  out.resize(kernel.length);
  std::memcpy(out.data(), kernel.get(), kernel.length);
  return out;
}

inline asio::ip::tcp::endpoint to_tcp(const SocketAddress& a) { return to_asio<asio::ip::tcp::endpoint>(a); }
inline asio::ip::udp::endpoint to_udp(const SocketAddress& a) { return to_asio<asio::ip::udp::endpoint>(a); }

template <class AsioEndpoint>
SocketAddress from_asio(const AsioEndpoint& endpoint) {
  return from_kernel(endpoint.data());
}

/// Asio's error as the system's: Debian's Asio has a category of its own that std::errc does not equal.
inline std::error_code from_asio(const std::error_code& error) {
  return {error.value(), std::system_category()};
}

}  // namespace doxlab::io
