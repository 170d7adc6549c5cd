#include "support/tcpdump.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "lab_sockets.hpp"

namespace doxlab::lab {
namespace {

using capture::RecordedPacket;
using link::Direction;

std::vector<std::string> one_way(const std::vector<Bytes>& packets, Direction direction) {
  std::vector<std::string> out;
  for (const auto& packet : packets) {
    const auto headers = capture::parse_headers(packet);
    const bool from_server = headers->source.ip == Lab::server_address(headers->source.ip.is_v6());
    if (from_server == (direction == Direction::ToClient))
      out.push_back(doxlab::test::describe_packet(packet));
  }
  return out;
}

/// What an observer at the client's device must have seen.
std::vector<std::string> seen_by_client(const std::vector<RecordedPacket>& packets, Direction direction) {
  std::vector<std::string> out;
  for (const auto& packet : packets)
    if (packet.place.direction == direction && (direction == Direction::ToServer || packet.delivered))
      out.push_back(doxlab::test::describe_packet(packet.bytes));
  return out;
}

/// Connects, sends 20,000 octets, and reads them back, through an echo server of its own.
void run_tcp_echo(Lab& lab, std::uint64_t lookup) {
  net::FileDescriptor listener;
  lab.run_in(Side::Server, [&] {
    listener = test::bound_socket(SOCK_STREAM, {Lab::server_address(true), 853});
    net::checked(::listen(listener.get(), 5), "listen");
  });
  const auto server = lab.start_thread(Side::Server, [&](std::stop_token) {
    const net::FileDescriptor socket(::accept(listener.get(), nullptr, nullptr));
    char buffer[4096];
    for (ssize_t length; (length = ::recv(socket.get(), buffer, sizeof buffer, 0)) > 0;)
      ::send(socket.get(), buffer, static_cast<std::size_t>(length), MSG_NOSIGNAL);
  });
  lab.run_in(Side::Client, [&] {
    const auto socket = test::bound_socket(SOCK_STREAM, {Lab::client_address(true), 0});
    lab.register_flow(capture::Protocol::Tcp, test::local_address(socket), {.lookup = lookup});
    const auto address = to_kernel({Lab::server_address(true), 853});
    net::checked(::connect(socket.get(), address.get(), address.length), "connect");
    const std::string sent(20000, 'z');
    ::send(socket.get(), sent.data(), sent.size(), 0);
    ::shutdown(socket.get(), SHUT_WR);
    std::string received;
    char buffer[4096];
    for (ssize_t length; (length = ::recv(socket.get(), buffer, sizeof buffer, 0)) > 0;)
      received.append(buffer, static_cast<std::size_t>(length));
    EXPECT_EQ(received, sent);
  });
}

TEST(LabRecorder, AgreesWithTcpdumpPacketForPacket) {
  Lab lab({.impairments = {.seed = 6, .one_way_delay = 2ms, .loss_probability = 0.05}, .sysctls = {}});
  doxlab::test::Tcpdump tcpdump(lab, Side::Client);

  test::UdpEcho echo(lab, false);
  test::UdpClient client(lab, false, {.lookup = 1});
  for (int i = 0; i < 30; ++i) client.send("datagram " + std::to_string(i));
  while (client.receive(100ms)) {
  }
  run_tcp_echo(lab, 2);

  // Both stop at the same moment only if nothing is on the way any more.
  const auto recorded = [&] {
    auto packets = lab.peek(1);
    std::ranges::move(lab.peek(2), std::back_inserter(packets));
    return packets;
  };
  const auto is_settled = [](const std::vector<RecordedPacket>& packets) {
    return std::ranges::all_of(packets,
                               [](const auto& p) { return p.delivered || p.fate != link::Fate::Delivered; });
  };
  for (auto quiet_since = monotonic_now(), last = quiet_since; monotonic_now() - quiet_since < 500ms;) {
    const auto packets = recorded();
    const auto latest = std::ranges::max(packets, {}, &RecordedPacket::sent).sent;
    if (!is_settled(packets) || latest != last) quiet_since = monotonic_now();
    last = latest;
    client.receive(20ms);
  }
  const auto seen = tcpdump.stop();
  const auto packets = recorded();
  EXPECT_GT(packets.size(), 80);
  for (const auto direction : {Direction::ToServer, Direction::ToClient})
    EXPECT_EQ(one_way(seen, direction), seen_by_client(packets, direction)) << link::to_string(direction);
}

}  // namespace
}  // namespace doxlab::lab
