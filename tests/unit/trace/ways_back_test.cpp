// Round trips from acknowledgements, on TCP segments made by hand.

#include "trace/ways_back.hpp"

#include <gtest/gtest.h>

namespace doxlab::trace {
namespace {

using link::Direction;

class Seen {
 public:
  Seen& segment(Duration when, Direction direction, std::uint8_t flags, std::uint32_t sequence, std::uint32_t length,
                std::uint32_t acknowledgment, bool arrives = true) {
    const auto index = static_cast<std::uint32_t>(dissection_.packets.size());
    dissection_.packets.push_back({.protocol = capture::Protocol::Tcp, .direction = direction, .ip_bytes = 40 + length});
    dissection_.packets.back().segment = index;
    dissection_.segments.push_back({.packet = index, .connection = 0, .direction = direction, .flags = flags, .sequence = sequence,
                                    .acknowledgment = acknowledgment, .payload_length = length, .stream_offset = sequence});
    const auto at = Timestamp{} + when;
    packets_.push_back({.ip_bytes = 40 + length, .sent = at, .delivered = arrives ? std::optional(at) : std::nullopt, .direction = direction});
    return *this;
  }
  /// A datagram with one packet: an ACK of packet 0, or else a PING.
  Seen& datagram(Duration when, Direction direction, dissect::QuicPacketType type, std::uint32_t payload, bool acknowledges) {
    const auto index = static_cast<std::uint32_t>(dissection_.packets.size());
    const auto quic = static_cast<std::uint32_t>(dissection_.quic_packets.size());
    dissection_.packets.push_back({.protocol = capture::Protocol::Udp, .direction = direction, .ip_bytes = 28 + payload, .first_quic_packet = quic, .quic_packets = 1});
    dissection_.quic_packets.push_back({.packet = index, .connection = 0, .direction = direction, .type = type, .offset = 28, .length = payload,
                                        .is_decrypted = true, .packet_number = quic, .first_frame = quic, .frames = 1});
    dissect::QuicFrame frame{.type = acknowledges ? dissect::kFrameAck : dissect::kFramePing, .unit = quic};
    if (acknowledges) frame.acked.push_back({0, 0});
    dissection_.quic_frames.push_back(std::move(frame));
    const auto at = Timestamp{} + when;
    packets_.push_back({.ip_bytes = 28 + payload, .sent = at, .delivered = at, .direction = direction});
    return *this;
  }
  Seen& again() {
    auto& last = dissection_.segments.back();
    last.repeated.push_back(last.stream_range());
    return *this;
  }
  std::optional<Duration> to(Direction direction) const { return shortest_ways_back(dissection_, packets_)[dissect::side(direction)]; }

 private:
  dissect::Dissection dissection_;
  std::vector<dissect::ObservedPacket> packets_;
};

constexpr auto kSyn = dissect::kTcpSyn, kAck = dissect::kTcpAck;
constexpr std::uint8_t kSynAck = kSyn | kAck;

TEST(ShortestWaysBack, OfAHandshakeSeenNearTheClient) {
  Seen seen;
  seen.segment(0ms, Direction::ToServer, kSyn, 100, 0, 0).segment(40ms, Direction::ToClient, kSynAck, 500, 0, 101);
  seen.segment(41ms, Direction::ToServer, kAck, 101, 0, 501);
  EXPECT_EQ(seen.to(Direction::ToServer), 40ms);
  EXPECT_EQ(seen.to(Direction::ToClient), 1ms);
}

TEST(ShortestWaysBack, IsFromWhatAllowedAQuicServerToExceedItsLimit) {
  using enum dissect::QuicPacketType;
  Seen seen;
  seen.datagram(0ms, Direction::ToServer, Initial, 1200, false);
  seen.datagram(24ms, Direction::ToClient, Initial, 1200, true);  // after a while of computing
  for (int i = 0; i < 2; ++i) seen.datagram(24ms, Direction::ToClient, Handshake, 1200, false);
  EXPECT_EQ(seen.to(Direction::ToServer), 24ms);
  seen.datagram(25ms, Direction::ToServer, Handshake, 50, true);  // nobody acknowledges an acknowledgement
  seen.datagram(45ms, Direction::ToClient, Handshake, 1200, false);
  EXPECT_EQ(seen.to(Direction::ToServer), 20ms);
}

TEST(ShortestWaysBack, OfAServerThatKnowsNoLimitIsNotMistaken) {
  using enum dissect::QuicPacketType;
  Seen seen;
  seen.datagram(0ms, Direction::ToServer, Initial, 1200, false);
  seen.datagram(24ms, Direction::ToClient, Initial, 1200, true);
  for (int i = 0; i < 5; ++i) seen.datagram(24ms, Direction::ToClient, Handshake, 1200, false);
  seen.datagram(25ms, Direction::ToServer, Handshake, 50, true);
  seen.datagram(26ms, Direction::ToClient, Handshake, 1200, false);
  EXPECT_EQ(seen.to(Direction::ToServer), 24ms);
}

TEST(ShortestWaysBack, WhatWasSentTwiceSaysNothing) {
  Seen seen;
  seen.segment(0ms, Direction::ToServer, kSyn, 100, 0, 0).segment(1000ms, Direction::ToServer, kSyn, 100, 0, 0);
  seen.segment(1005ms, Direction::ToClient, kSynAck, 500, 0, 101);
  EXPECT_EQ(seen.to(Direction::ToServer), std::nullopt) << "it may answer either";
  seen.segment(1010ms, Direction::ToServer, kAck, 101, 50, 501).segment(1300ms, Direction::ToServer, kAck, 101, 50, 501).again();
  seen.segment(1310ms, Direction::ToClient, kAck, 501, 0, 151);
  EXPECT_EQ(seen.to(Direction::ToServer), std::nullopt);
  seen.segment(1320ms, Direction::ToServer, kAck, 151, 50, 501).segment(1361ms, Direction::ToClient, kAck, 501, 0, 201);
  EXPECT_EQ(seen.to(Direction::ToServer), 41ms);
}

TEST(ShortestWaysBack, IsTheNewestSegmentThatAnAcknowledgementCovers) {
  Seen seen;
  seen.segment(0ms, Direction::ToServer, kAck, 0xffffffe0, 20, 1).segment(30ms, Direction::ToServer, kAck, 0xfffffff4, 20, 1);
  seen.segment(70ms, Direction::ToClient, kAck, 1, 0, 8);
  EXPECT_EQ(seen.to(Direction::ToServer), 40ms) << "where sequence numbers wrap, too";
}

TEST(ShortestWaysBack, WhatNeverArrivedAsksForNothingButAnswers) {
  Seen seen;
  seen.segment(0ms, Direction::ToServer, kAck, 1, 20, 1, false).segment(40ms, Direction::ToClient, kAck, 1, 0, 21);
  EXPECT_EQ(seen.to(Direction::ToServer), std::nullopt);
  seen.segment(50ms, Direction::ToServer, kAck, 21, 20, 1).segment(91ms, Direction::ToClient, kAck, 1, 0, 41, false);
  EXPECT_EQ(seen.to(Direction::ToServer), 41ms);
}

}  // namespace
}  // namespace doxlab::trace
