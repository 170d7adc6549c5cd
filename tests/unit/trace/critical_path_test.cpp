#include "trace/critical_path.hpp"

#include <gtest/gtest.h>

namespace doxlab::trace {
namespace {

using link::Direction;

const Timestamp kStart = Timestamp{} + 1s;

capture::RecordedPacket packet(Direction direction, Duration sent, std::optional<Duration> delivered, std::size_t bytes = 100) {
  capture::RecordedPacket out;
  out.place.direction = direction;
  out.sent = kStart + sent;
  if (delivered) out.delivered = kStart + *delivered;
  else out.fate = link::Fate::Lost;
  out.bytes.resize(bytes);
  return out;
}

// A TLS 1.3 exchange over TCP on a 20 ms path, with 1 ms of computing before each flight.
std::vector<capture::RecordedPacket> three_round_trips() {
  return {
      packet(Direction::ToServer, 1ms, 21ms),    // SYN
      packet(Direction::ToClient, 21ms, 41ms),   // SYN-ACK
      packet(Direction::ToServer, 41ms, 61ms),   // ACK
      packet(Direction::ToServer, 42ms, 62ms),   // ClientHello
      packet(Direction::ToClient, 63ms, 83ms),   // ServerHello ...
      packet(Direction::ToClient, 63ms, 83ms),   // ... Finished
      packet(Direction::ToServer, 83ms, 103ms),  // ACK
      packet(Direction::ToServer, 84ms, 104ms),  // Finished, query
      packet(Direction::ToClient, 105ms, 125ms), // answer
      packet(Direction::ToServer, 130ms, 150ms), // close
  };
}

TEST(CriticalPath, CountsRoundTripsAndSumsExactly) {
  const auto packets = three_round_trips();
  const auto path = critical_path(packets, kStart, kStart + 126ms);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->round_trips(), 3u);
  EXPECT_EQ(path->transit(), 120ms);
  EXPECT_EQ(path->transit() + path->client_waits() + path->server_waits(), 126ms);
  EXPECT_EQ(path->client_waits(), 4ms);
  EXPECT_EQ(path->server_waits(), 2ms);
  EXPECT_EQ(path->hops.back().packet, 8u);
}

TEST(CriticalPath, LostPacketsAreNoPartOfIt) {
  const std::vector packets = {
      packet(Direction::ToServer, 0ms, std::nullopt),    // lost
      packet(Direction::ToServer, 1000ms, 1020ms),       // sent again
      packet(Direction::ToClient, 1020ms, 1040ms),
  };
  const auto path = critical_path(packets, kStart, kStart + 1040ms);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->round_trips(), 1u);
  EXPECT_EQ(path->client_waits(), 1000ms);
}

TEST(CriticalPath, NoneWithoutAnAnswer) {
  const std::vector packets = {packet(Direction::ToServer, 0ms, 20ms)};
  EXPECT_FALSE(critical_path(packets, kStart, kStart + 40ms));
  EXPECT_FALSE(critical_path(std::vector<capture::RecordedPacket>{}, kStart, kStart + 40ms));
}

TEST(CriticalPath, PacketsAfterTheAnswerDoNotCount) {
  auto packets = three_round_trips();
  packets.push_back(packet(Direction::ToClient, 150ms, 170ms));
  EXPECT_EQ(critical_path(packets, kStart, kStart + 126ms)->round_trips(), 3u);
}

TEST(Volumes, SplitAtTheAnswer) {
  auto packets = three_round_trips();
  packets.push_back(packet(Direction::ToClient, 140ms, std::nullopt, 40));
  // The kernel acknowledges the answer before the client has parsed it; that is not part of the lookup.
  packets.insert(packets.begin() + 9, packet(Direction::ToServer, 125ms, 145ms, 52));
  const auto cut = cut_at_answer(packets, critical_path(packets, kStart, kStart + 126ms));
  const auto volumes = count_volumes(packets, cut);
  EXPECT_EQ(volumes.to_server.packets, 5u);
  EXPECT_EQ(volumes.to_client.packets, 4u);
  EXPECT_EQ(volumes.to_server.ip_bytes, 500u);
  EXPECT_EQ(volumes.to_server_after.packets, 2u);
  EXPECT_EQ(volumes.to_client_after.ip_bytes, 40u);
  EXPECT_EQ(volumes.lost, 1u);
}

TEST(Flights, AcknowledgementsAreNoFlightOfTheirOwn) {
  const auto packets = three_round_trips();
  EXPECT_EQ(count_flights(packets, cut_at_answer(packets, critical_path(packets, kStart, kStart + 126ms))), 3u);
}

}  // namespace
}  // namespace doxlab::trace
