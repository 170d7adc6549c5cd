// Detectors on packets made by hand: what no sender here does. The rest is tested with real lookups.

#include "trace/detectors.hpp"

#include <gmock/gmock.h>

namespace doxlab::trace {
namespace {

using dissect::Dissection;
using dissect::ObservedPacket;
using dissect::QuicPacketType;
using link::Direction;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Timestamp kFirst{};
constexpr auto kWay = 20ms;

class Packets {
 public:
  /// A segment of the only TCP connection; `again`: its octets went before.
  Packets& segment(Duration when, Direction direction, std::uint32_t sequence, std::uint32_t length, std::uint32_t acknowledgment,
                   bool again = false) {
    const auto index = add(when, direction, capture::Protocol::Tcp, 40 + length);
    auto& packet = dissection_.packets.back();
    packet.segment = static_cast<std::uint32_t>(dissection_.segments.size());
    dissect::TcpSegment out{.packet = index, .connection = 0, .direction = direction, .flags = dissect::kTcpAck,
                            .sequence = sequence, .acknowledgment = acknowledgment, .payload_length = length,
                            .stream_offset = sequence};
    if (again) out.repeated.push_back(out.stream_range());
    dissection_.segments.push_back(out);
    if (length > 0) tile(packet, dissect::TileKind::TcpPayload, length, again);
    return *this;
  }

  /// A datagram with one QUIC packet with one frame.
  Packets& datagram(Duration when, Direction direction, QuicPacketType type, std::uint64_t frame, std::uint32_t payload) {
    const auto index = add(when, direction, capture::Protocol::Udp, 28 + payload);
    auto& packet = dissection_.packets.back();
    packet.first_quic_packet = static_cast<std::uint32_t>(dissection_.quic_packets.size());
    packet.quic_packets = 1;
    tile(packet, dissect::TileKind::QuicFrame, payload, false);
    dissection_.quic_packets.push_back({.packet = index, .connection = 0, .direction = direction, .type = type, .is_decrypted = true,
                                        .first_frame = static_cast<std::uint32_t>(dissection_.quic_frames.size()), .frames = 1});
    dissection_.quic_frames.push_back({.type = frame, .unit = packet.first_quic_packet});
    return *this;
  }

  std::optional<Causes> causes(Duration answered) const {
    return find_causes(dissection_, observed_, kFirst, kFirst + answered, kWay);
  }
  std::vector<Detected> detect(const Causes& causes) const {
    return trace::detect(dissection_, observed_, &causes, {.answered = kFirst + 1s});
  }

  std::vector<Detected> detect() const { return trace::detect(dissection_, observed_, nullptr, {.answered = kFirst + 1s}); }

 private:
  static void tile(dissect::DissectedPacket& packet, dissect::TileKind kind, std::uint32_t length, bool again) {
    dissect::Tile out;
    out.kind = kind;
    out.length = length;
    out.repeated = again;
    packet.tiles.push_back(out);
  }

  std::uint32_t add(Duration when, Direction direction, capture::Protocol protocol, std::uint32_t ip_bytes) {
    dissection_.packets.push_back({.protocol = protocol, .direction = direction, .ip_bytes = ip_bytes, .captured_bytes = ip_bytes});
    observed_.push_back({.ip_bytes = ip_bytes, .sent = kFirst + when, .delivered = kFirst + when + kWay, .direction = direction});
    return static_cast<std::uint32_t>(observed_.size() - 1);
  }

  Dissection dissection_;
  std::vector<ObservedPacket> observed_;
};

TEST(SpuriousRetransmission, IsFoundAfterTheAcknowledgement) {
  Packets packets;
  packets.segment(0ms, Direction::ToClient, 0, 1000, 1).segment(20ms, Direction::ToServer, 1, 0, 1000);
  packets.segment(41ms, Direction::ToClient, 0, 1000, 1, true);
  const auto found = packets.detect();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].finding, Finding::SpuriousRetransmission);
  EXPECT_THAT(found[0].packets, ElementsAre(2));
}

TEST(SpuriousRetransmission, IsFoundWhereSequenceNumbersWrap) {
  Packets packets;
  packets.segment(0ms, Direction::ToClient, 0xffffff00, 1000, 1).segment(20ms, Direction::ToServer, 1, 0, 744);
  packets.segment(41ms, Direction::ToClient, 0xffffff00, 1000, 1, true);
  EXPECT_THAT(packets.detect(), SizeIs(1));
}

TEST(SpuriousRetransmission, IsSilentWhereTheAcknowledgementWasStillOnItsWay) {
  Packets packets;
  packets.segment(0ms, Direction::ToClient, 0, 1000, 1).segment(20ms, Direction::ToServer, 1, 0, 1000);
  packets.segment(39ms, Direction::ToClient, 0, 1000, 1, true);
  EXPECT_THAT(packets.detect(), IsEmpty());
}

TEST(SpuriousRetransmission, IsSilentWhereOnlyAPartWasAcknowledged) {
  Packets packets;
  packets.segment(0ms, Direction::ToClient, 0, 1000, 1).segment(20ms, Direction::ToServer, 1, 0, 999);
  packets.segment(60ms, Direction::ToClient, 0, 1000, 1, true);
  EXPECT_THAT(packets.detect(), IsEmpty());
}

/// A query over TCP that arrives after 20 ms, its acknowledgement, and the answer.
Packets answered(Duration acknowledged, Duration sent) {
  Packets packets;
  packets.segment(0ms, Direction::ToServer, 1, 100, 1);
  if (acknowledged < sent) packets.segment(acknowledged, Direction::ToClient, 1, 0, 101);
  packets.segment(sent, Direction::ToClient, 1, 300, 101);
  return packets;
}

TEST(ServerThinkTime, IsWhatFollowsAnAcknowledgement) {
  const auto packets = answered(21ms, 220ms);
  const auto causes = packets.causes(240ms);
  ASSERT_TRUE(causes);
  EXPECT_TRUE(causes->is_explained());
  EXPECT_EQ(causes->sum(), 240ms);
  ASSERT_THAT(causes->spans, SizeIs(3));
  EXPECT_EQ(cause_name(causes->spans[1]), "server_think_time");
  EXPECT_EQ(causes->spans[1].length(), 200ms);
  EXPECT_THAT(causes->spans[1].packets, ElementsAre(1, 2));
  const auto found = packets.detect(*causes);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].finding, Finding::ServerThinkTime);
  EXPECT_THAT(found[0].sentence, HasSubstr("199.0 ms"));
}

TEST(ServerThinkTime, IsNotClaimedWithoutAnAcknowledgementLongBefore) {
  // None, and one that came late: a resolver beyond a long way answers both at once.
  for (const auto acknowledged : {220ms, 200ms}) {
    const auto packets = answered(acknowledged, 220ms);
    const auto causes = packets.causes(240ms);
    ASSERT_TRUE(causes);
    EXPECT_EQ(cause_name(causes->spans[1]), "unexplained") << acknowledged;
    EXPECT_THAT(packets.detect(*causes), IsEmpty());
  }
}

TEST(ServerThinkTime, IsComputingWhereItIsShort) {
  const auto packets = answered(21ms, 40ms);
  const auto causes = packets.causes(60ms);
  ASSERT_TRUE(causes);
  EXPECT_EQ(cause_name(causes->spans[1]), "server_computing");
}

TEST(UnpaddedInitial, OfTheClientIsFoundWhateverItHolds) {
  for (const auto frame : {dissect::kFramePing, dissect::kFrameAck}) {
    EXPECT_THAT(Packets().datagram(0ms, Direction::ToServer, QuicPacketType::Initial, frame, 1199).detect(), SizeIs(1));
    EXPECT_THAT(Packets().datagram(0ms, Direction::ToServer, QuicPacketType::Initial, frame, 1200).detect(), IsEmpty());
  }
}

TEST(UnpaddedInitial, OfTheServerIsFoundIfItAsksForAnAcknowledgement) {
  const auto of_server = [](QuicPacketType type, std::uint64_t frame, std::uint32_t payload) {
    return Packets().datagram(0ms, Direction::ToClient, type, frame, payload).detect();
  };
  const auto found = of_server(QuicPacketType::Initial, dissect::kFrameCrypto, 1199);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].finding, Finding::InitialNotPadded);
  EXPECT_THAT(found[0].sentence, HasSubstr("The server"));
  EXPECT_THAT(of_server(QuicPacketType::Initial, dissect::kFrameCrypto, 1200), IsEmpty());
  EXPECT_THAT(of_server(QuicPacketType::Initial, dissect::kFrameAck, 60), IsEmpty());
  EXPECT_THAT(of_server(QuicPacketType::Handshake, dissect::kFrameCrypto, 60), IsEmpty());
}

}  // namespace
}  // namespace doxlab::trace
