// How fast and how exact the link is: UDP datagrams from the client's namespace to the server's, at rising rates.
// Beside it the same sender over the loopback device, which has no delay to keep: what the kernel alone can do.

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <asio/ip/udp.hpp>
#include <format>
#include <future>
#include <print>
#include <thread>

#include "io/endpoint.hpp"
#include "lab/lab.hpp"

namespace doxlab {
namespace {

constexpr std::size_t kPayload = 1232;
constexpr std::uint16_t kPort = 9;
constexpr auto kDuration = 2s;

/// Sends `rate` datagrams a second for kDuration (0: as fast as it goes); how many were sent.
std::uint64_t send_paced(const SocketAddress& server, double rate) {
  asio::io_context io;
  asio::ip::udp::socket socket(io, server.ip.is_v6() ? asio::ip::udp::v6() : asio::ip::udp::v4());
  socket.connect(io::to_udp(server));
  const std::array<std::uint8_t, kPayload> payload{};
  const auto begin = monotonic_now();
  std::uint64_t sent = 0;
  while (monotonic_now() - begin < kDuration) {
    const double due = rate > 0 ? rate * to_ms(monotonic_now() - begin) / 1000 : static_cast<double>(sent + 64);
    if (static_cast<double>(sent) >= due) {
      std::this_thread::sleep_for(100us);
      continue;
    }
    while (static_cast<double>(sent) < due) {
      std::error_code error;
      socket.send(asio::buffer(payload), 0, error);
      if (!error) ++sent;
      else if (error != asio::error::no_buffer_space) throw std::system_error(error, "send");
      else break;
    }
  }
  return sent;
}

/// Receives until nothing has come for half a second; how many came.
std::uint64_t receive_all(asio::ip::udp::socket& socket) {
  timeval patience{.tv_sec = 0, .tv_usec = 500000};
  ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::array<std::uint8_t, 2048> buffer;
  std::uint64_t received = 0;
  while (::recv(socket.native_handle(), buffer.data(), buffer.size(), 0) >= 0) ++received;
  return received;
}

asio::ip::udp::socket listen(asio::io_context& io, const SocketAddress& address) {
  asio::ip::udp::socket socket(io, io::to_udp(address));
  socket.set_option(asio::socket_base::receive_buffer_size(64 * 1024 * 1024));
  return socket;
}

struct Rate {
  std::uint64_t sent = 0, received = 0;
  double per_second() const { return static_cast<double>(received) / (to_ms(kDuration) / 1000); }
};

Rate through_lab(lab::Lab& lab, double rate) {
  const SocketAddress server{lab::Lab::server_address(false), kPort};
  Rate out;
  std::promise<void> listening;
  auto receiver = lab.start_thread(lab::Side::Server, [&](std::stop_token) {
    asio::io_context io;
    auto socket = listen(io, server);
    listening.set_value();
    out.received = receive_all(socket);
  });
  listening.get_future().get();
  lab.run_in(lab::Side::Client, [&] { out.sent = send_paced(server, rate); });
  receiver.join();
  return out;
}

Rate over_loopback() {
  const SocketAddress server{IpAddress::v4({127, 0, 0, 1}), 20009};
  Rate out;
  asio::io_context io;
  auto socket = listen(io, server);
  std::jthread receiver([&] { out.received = receive_all(socket); });
  out.sent = send_paced(server, 0);
  receiver.join();
  return out;
}

int run() {
  std::println("{} byte datagrams, 20 ms each way, {} s each", kPayload, std::chrono::seconds(kDuration).count());
  std::println("{:>12} {:>12} {:>8} {:>14} {:>10} {:>10}", "asked/s", "arrived/s", "lost", "late p50 µs", "p99 µs", "max µs");
  double fastest = 0;
  for (const double rate : {1000.0, 5000.0, 20000.0, 50000.0, 0.0}) {
    lab::Lab lab({.impairments = {.one_way_delay = 20ms}});
    const auto result = through_lab(lab, rate);
    const auto precision = lab.precision();
    fastest = std::max(fastest, result.per_second());
    std::println("{:>12} {:>12.0f} {:>8} {:>14.0f} {:>10.0f} {:>10.0f}", rate > 0 ? std::format("{:.0f}", rate) : "all it can",
                 result.per_second(), result.sent - result.received, to_ms(precision.p50) * 1000,
                 to_ms(precision.p99) * 1000, to_ms(precision.max) * 1000);
  }
  const auto plain = over_loopback();
  std::println("loopback device, no delay: {:.0f} datagrams/s; the link carries {:.2f} of that", plain.per_second(),
               fastest / plain.per_second());
  return 0;
}

}  // namespace
}  // namespace doxlab

int main() {
  try {
    return doxlab::run();
  } catch (const std::exception& error) {
    std::println(stderr, "bench_link: {}", error.what());
    return 1;
  }
}
