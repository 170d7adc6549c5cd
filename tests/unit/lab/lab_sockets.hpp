#pragma once
/// Plain blocking sockets for the tests of the lab.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "base/address.hpp"
#include "base/time.hpp"
#include "lab/lab.hpp"
#include "net/file_descriptor.hpp"
#include "net/system_error.hpp"

namespace doxlab::lab::test {

inline net::FileDescriptor bound_socket(int type, const SocketAddress& address) {
  const auto kernel = to_kernel(address);
  net::FileDescriptor fd(net::checked(::socket(kernel.get()->sa_family, type | SOCK_CLOEXEC, 0), "socket"));
  const int one = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  net::checked(::bind(fd.get(), kernel.get(), kernel.length), "bind");
  return fd;
}

inline SocketAddress local_address(const net::FileDescriptor& fd) {
  KernelAddress kernel;
  kernel.length = sizeof kernel.storage;
  net::checked(::getsockname(fd.get(), kernel.get(), &kernel.length), "getsockname");
  return from_kernel(kernel.get());
}

inline bool is_readable_within(const net::FileDescriptor& fd, std::chrono::milliseconds timeout) {
  pollfd poll{fd.get(), POLLIN, 0};
  return ::poll(&poll, 1, static_cast<int>(timeout.count())) == 1;
}

/// Sends every datagram back to its sender, in the server's namespace, while it lives.
class UdpEcho {
 public:
  static constexpr std::uint16_t kPort = 5300;

  UdpEcho(Lab& lab, bool ipv6) {
    lab.run_in(Side::Server, [&] { socket_ = bound_socket(SOCK_DGRAM, {Lab::server_address(ipv6), kPort}); });
    thread_ = lab.start_thread(Side::Server, [this](std::stop_token stop) {
      char buffer[65536];
      while (!stop.stop_requested()) {
        if (!is_readable_within(socket_, 20ms)) continue;
        KernelAddress from;
        from.length = sizeof from.storage;
        const auto length =
            ::recvfrom(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT, from.get(), &from.length);
        if (length >= 0)
          ::sendto(socket_.get(), buffer, static_cast<std::size_t>(length), 0, from.get(), from.length);
      }
    });
  }

 private:
  net::FileDescriptor socket_;
  std::jthread thread_;
};

/// A connected UDP socket in the client's namespace, with its flow registered.
class UdpClient {
 public:
  UdpClient(Lab& lab, bool ipv6, FlowTag tag, std::size_t address = 1) {
    lab.run_in(Side::Client, [&] {
      socket_ = bound_socket(SOCK_DGRAM, {Lab::client_address(ipv6, address), 0});
      const auto server = to_kernel({Lab::server_address(ipv6), UdpEcho::kPort});
      net::checked(::connect(socket_.get(), server.get(), server.length), "connect");
    });
    if (tag.lookup != 0) lab.register_flow(capture::Protocol::Udp, local_address(socket_), tag);
  }

  void send(const std::string& text) {
    net::checked(static_cast<int>(::send(socket_.get(), text.data(), text.size(), 0)), "send");
  }
  std::optional<std::string> receive(std::chrono::milliseconds timeout) {
    if (!is_readable_within(socket_, timeout)) return std::nullopt;
    char buffer[65536];
    const auto length = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (length < 0) return std::nullopt;
    return std::string(buffer, static_cast<std::size_t>(length));
  }
  /// Time until the echo of one datagram, or nothing within a second.
  std::optional<Duration> round_trip(const std::string& text) {
    const auto start = monotonic_now();
    send(text);
    const auto answer = receive(1000ms);
    if (answer != text) return std::nullopt;
    return monotonic_now() - start;
  }
  const net::FileDescriptor& socket() const { return socket_; }

 private:
  net::FileDescriptor socket_;
};

}  // namespace doxlab::lab::test
