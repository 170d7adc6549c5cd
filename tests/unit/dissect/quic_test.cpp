// What QUIC connections may do besides a plain lookup: Retry, version 2, loss, key updates, new connection
// IDs, resets.
#include <gmock/gmock.h>

#include "check.hpp"
#include "dissect/quic_protection.hpp"
#include "lookups.hpp"
#include "seal.hpp"

namespace doxlab::dissect {
namespace {

using link::Direction;
using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;

std::uint64_t octets_of(const Dissection& dissection, TileKind kind) {
  const auto octets = octets_by_kind(dissection);
  const auto found = octets.find(kind);
  return found == octets.end() ? 0 : found->second;
}

/// Every octet of every stream was delivered by a packet that carries it.
void expect_delivered(const Dissection& dissection) {
  for (const auto& connection : dissection.quic_connections) {
    const auto check = [&](const QuicStream& stream) {
      for (const auto& here : stream) {
        EXPECT_TRUE(here.delivered_by.covers({0, here.data.end()}));
        for (const auto& owned : here.delivered_by.all()) EXPECT_LT(owned.owner, dissection.packets.size());
      }
    };
    for (const auto& [epoch, stream] : connection.crypto) check(stream);
    for (const auto& [id, stream] : connection.streams) check(stream);
  }
}

TEST(QuicDissection, RetryIsCheckedAndFollowed) {
  for (const std::uint32_t version : {1u, 2u}) {
    Plan plan(Transport::Doq);
    plan.server.quic.retry = quic::RetryPolicy::Always;
    plan.client.quic.version = plan.server.quic.connection.version = version;
    const auto dissection = World(plan).run().dissect();
    expect_exact(dissection);
    expect_all_read(dissection);
    expect_messages_counted_once(dissection);
    expect_delivered(dissection);
    ASSERT_EQ(dissection.quic_connections.size(), 1u);
    EXPECT_TRUE(dissection.quic_connections[0].has_retry);
    EXPECT_EQ(dissection.quic_connections[0].version, version == 1 ? kQuicVersion1 : kQuicVersion2);
    const auto retry = std::ranges::find(dissection.quic_packets, QuicPacketType::Retry, &QuicPacket::type);
    ASSERT_NE(retry, dissection.quic_packets.end());
    EXPECT_TRUE(retry->is_retry_authentic);
    EXPECT_GT(retry->token.length, 0u);
    // A ClientHello of two datagrams may be answered with two.
    const auto retries =
        std::ranges::count(dissection.quic_packets, QuicPacketType::Retry, &QuicPacket::type);
    EXPECT_EQ(octets_of(dissection, TileKind::QuicRetryTag), 16u * retries);
    // The token is in the Retry and in every Initial of the client behind it.
    const auto with_token = std::ranges::count_if(dissection.quic_packets, [&](const QuicPacket& packet) {
      return packet.type == QuicPacketType::Initial && packet.token.length == retry->token.length;
    });
    EXPECT_GE(with_token, 1);
    EXPECT_EQ(octets_of(dissection, TileKind::QuicToken), retry->token.length * (with_token + retries));
    // The ClientHello goes out twice.
    std::uint64_t repeated = 0;
    for (const auto& packet : dissection.packets)
      for (const auto& tile : packet.tiles)
        if (tile.kind == TileKind::TlsHandshake && tile.repeated) repeated += tile.length;
    EXPECT_GE(repeated, 1200u);
  }
}

TEST(QuicDissection, TokenOfAnEarlierConnectionIsThere) {
  World world{Plan(Transport::Doq)};
  const auto first = world.run();
  ASSERT_FALSE(first.token.empty());
  EXPECT_THAT(first.dissect().quic_frames,
              Contains(testing::AllOf(Field(&QuicFrame::type, kFrameNewToken),
                                      Field(&QuicFrame::value, first.token.size()))));
  world.plan().client.token = first.token;
  const auto second = world.run().dissect();
  EXPECT_EQ(second.quic_packets[0].token.length, first.token.size());
}

TEST(QuicDissection, LossLeavesNothingUnread) {
  std::uint64_t repeated = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Plan plan(seed % 2 == 0 ? Transport::Doq : Transport::Doh3);
    plan.path.seed = seed;
    plan.path.loss_probability = 0.2;
    plan.client.quic.handshake_timeout = plan.server.quic.connection.handshake_timeout = 600s;
    plan.client.quic.max_idle_timeout = plan.server.quic.connection.max_idle_timeout = 600s;
    if (seed % 3 == 0) plan.server.quic.retry = quic::RetryPolicy::Always;
    const auto dissection = World(plan).run().dissect();
    expect_exact(dissection);
    expect_all_read(dissection);
    expect_messages_counted_once(dissection);
    for (const auto& frame : dissection.quic_frames)
      for (const auto& range : frame.repeated) repeated += range.length();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(repeated, 10'000u);
}

TEST(QuicDissection, DeliveryIsToldFromSending) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Plan plan(Transport::Doq);
    plan.path.seed = seed;
    plan.path.loss_probability = 0.15;
    const auto lookup = World(plan).run();
    const auto dissection = lookup.dissect();
    // The query and the answer arrived, so all of their streams did; the last acknowledgements need not have.
    for (const auto direction : kDirections) {
      const auto& stream = dissection.quic_connections.at(0).streams.at(0)[side(direction)];
      EXPECT_TRUE(stream.has_fin);
      EXPECT_TRUE(stream.delivered_by.covers({0, stream.data.end()}));
      for (const auto& owned : stream.delivered_by.all())
        EXPECT_TRUE(lookup.packets.at(owned.owner).delivered);
    }
  }
}

TEST(QuicDissection, PaddingFillsInitialDatagrams) {
  const auto dissection = World(Plan(Transport::Doq)).run().dissect();
  std::uint64_t datagrams = 0;
  for (const auto& packet : dissection.packets) {
    std::uint64_t padding = 0, payload = 0;
    for (const auto& tile : packet.tiles) {
      if (tile.kind == TileKind::QuicPadding) padding += tile.length;
      if (tile.kind != TileKind::IpHeader && tile.kind != TileKind::UdpHeader) payload += tile.length;
    }
    const auto& first = dissection.quic_packets.at(packet.first_quic_packet);
    if (first.type != QuicPacketType::Initial || packet.direction != Direction::ToServer) continue;
    EXPECT_GE(payload, 1200u);
    ++datagrams;
  }
  EXPECT_GE(datagrams, 2u);
}

/// A connection whose only sign is a client's Initial.
struct HandMade {
  const Bytes origin = {1, 2, 3, 4, 5, 6, 7, 8}, client_id = {9, 9, 9, 9};
  const SocketAddress client = client_of(853), server = server_of(853);
  std::vector<RecordedPacket> packets;

  void add(Direction direction, const Bytes& payload) {
    const bool to_server = direction == Direction::ToServer;
    packets.push_back(recorded(direction, Timestamp{1s} + 1ms * packets.size(),
                               udp(to_server ? client : server, to_server ? server : client, payload)));
  }
  Dissection dissect() const { return dissect::dissect(observe(packets), {}); }
};

TEST(QuicDissection, VersionNegotiationIsRead) {
  HandMade talk;
  talk.add(Direction::ToServer, seal_client_initial(talk.origin, talk.client_id, 0, {1}));
  ByteWriter answer;
  answer.u8(0x80);
  answer.u32(0);
  answer.u8(4);
  answer.append(talk.client_id);
  answer.u8(8);
  answer.append(talk.origin);
  answer.u32(kQuicVersion2);
  answer.u32(0x1a2a3a4a);
  talk.add(Direction::ToClient, answer.take());
  // The client begins anew, with another version and another ID.
  const Bytes other = {7, 7, 7, 7, 7, 7, 7, 7};
  talk.add(Direction::ToServer, seal_client_initial(other, talk.client_id, 0, {1}, kQuicVersion2));
  const auto dissection = talk.dissect();
  expect_exact(dissection);
  ASSERT_EQ(dissection.quic_packets.size(), 3u);
  EXPECT_EQ(dissection.quic_packets[1].type, QuicPacketType::VersionNegotiation);
  EXPECT_EQ(octets_of(dissection, TileKind::QuicVersionList), 8u);
  EXPECT_TRUE(dissection.quic_packets[2].is_decrypted);
  EXPECT_EQ(dissection.quic_connections.size(), 2u);
}

TEST(QuicDissection, ServersIdReplacesTheClientsChoiceButNotItsKeys) {
  HandMade talk;
  talk.add(Direction::ToServer, seal_client_initial(talk.origin, talk.client_id, 0, {1}));
  const Bytes servers = {5, 5, 5};
  // What the server sent is not in the capture; the client's next packet has its ID and the old keys.
  talk.add(Direction::ToServer,
           seal_client_initial(servers, talk.client_id, 1, {1}, kQuicVersion1, talk.origin));
  const auto dissection = talk.dissect();
  EXPECT_EQ(dissection.quic_connections.size(), 1u);
  EXPECT_TRUE(dissection.quic_packets[1].is_decrypted);
  EXPECT_EQ(dissection.quic_packets[1].packet_number, 1u);
}

TEST(QuicDissection, ZerosBehindThePacketsAreDatagramPadding) {
  HandMade talk;
  auto datagram = seal_client_initial(talk.origin, talk.client_id, 0, {1});
  datagram.resize(datagram.size() + 50);
  talk.add(Direction::ToServer, datagram);
  const auto dissection = talk.dissect();
  expect_exact(dissection);
  EXPECT_EQ(octets_of(dissection, TileKind::QuicDatagramPadding), 50u);
  EXPECT_EQ(dissection.quic_packets.size(), 1u);
}

TEST(QuicDissection, FramesOfEveryTypeHaveTheirSize) {
  ByteWriter frames;
  std::vector<std::uint32_t> lengths;
  const auto frame = [&](Bytes octets) {
    lengths.push_back(static_cast<std::uint32_t>(octets.size()));
    frames.append(octets);
  };
  frame({0x01});
  frame({0x02, 9, 0, 1, 2, 0, 3});     // 7 to 9, then 2 to 5
  frame({0x03, 0, 0, 0, 0, 1, 2, 3});  // with ECN counts
  frame({0x04, 4, 5, 6});
  frame({0x05, 4, 5});
  frame({0x06, 0, 3, 'a', 'b', 'c'});
  frame({0x07, 2, 'x', 'y'});
  frame({0x0f, 4, 7, 2, 'h', 'i'});  // STREAM with offset, length, FIN
  frame({0x10, 0x40, 0x64});
  frame({0x11, 4, 9});
  frame({0x12, 1});
  frame({0x13, 1});
  frame({0x14, 1});
  frame({0x15, 4, 1});
  frame({0x16, 1});
  frame({0x17, 1});
  frame({0x18, 1, 0, 2, 0xaa, 0xbb, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  frame({0x19, 1});
  frame({0x1a, 1, 2, 3, 4, 5, 6, 7, 8});
  frame({0x1b, 1, 2, 3, 4, 5, 6, 7, 8});
  frame({0x1c, 0x0a, 0x06, 2, 'n', 'o'});
  frame({0x1d, 2, 1, '!'});
  frame({0x1e});
  frame({0x31, 2, 'd', 'g'});
  frame({0x00, 0x00, 0x00});
  frame({0x30, 'r', 'e', 's', 't'});  // DATAGRAM without length takes the rest
  const auto read = read_quic_frames(frames.bytes(), 100);
  ASSERT_EQ(read.size(), lengths.size());
  std::uint32_t at = 100;
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].offset, at);
    EXPECT_EQ(read[i].length, lengths[i]) << frame_name(read[i].type);
    EXPECT_FALSE(read[i].is_malformed) << frame_name(read[i].type);
    at += lengths[i];
  }
  EXPECT_THAT(read[1].acked, ElementsAre(AckRange{7, 9}, AckRange{2, 5}));
  EXPECT_EQ(read[7].stream_id, 4u);
  EXPECT_EQ(read[7].stream_offset, 7u);
  EXPECT_EQ(read[7].data_length, 2u);
  EXPECT_TRUE(read[7].fin);
  EXPECT_EQ(read[8].value, 100u);
  EXPECT_EQ(
      to_hex(read_new_connection_id(BytesView(frames.bytes()).subspan(read[16].offset - 100, read[16].length))
                 .id),
      "aabb");
  EXPECT_EQ(read[20].value, 10u);
  EXPECT_EQ(read[25].data_length, 4u);
}

TEST(QuicDissection, BadFramesEndThePacketWithoutOverrun) {
  const std::vector<Bytes> bad = {
      {0x02, 1, 0, 0, 5},                                                 // acknowledges below zero
      {0x02, 9, 0, 1, 2, 9, 9},                                           // second range below zero
      {0x06, 0, 0x7f, 0xff},                                              // longer than the packet
      {0x08, 4, 1},                                                       // fine: STREAM takes the rest
      {0x0e, 4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 'x'},  // ends beyond 2^62
      {0x21},                                                             // no such frame
      {0x40},                                                             // half a type
  };
  for (const auto& payload : bad) {
    const auto frames = read_quic_frames(payload, 0);
    ASSERT_EQ(frames.size(), 1u) << to_hex(payload);
    EXPECT_EQ(frames[0].length, payload.size()) << to_hex(payload);
    EXPECT_EQ(frames[0].is_malformed, payload[0] != 0x08) << to_hex(payload);
  }
}

TEST(QuicProtection, FollowsKeyUpdatesAndLatePackets) {
  TlsSecrets secrets;
  secrets.server_application = Bytes(32, 0x5a);
  QuicProtection protection;
  protection.set_secrets(secrets);
  const auto first = secrets.server_application;
  const auto second = expand_label(first, "quic ku", 32), third = expand_label(second, "quic ku", 32);
  const auto opens = [&](BytesView secret, std::uint32_t number, bool phase) {
    const auto packet = seal_short(secret, first, {}, number, phase, Bytes{1, 0, 0, 0});
    const auto opened =
        protection.open(packet, *read_quic_header(packet, 0), kQuicVersion1, Direction::ToClient);
    return opened && opened->header.packet_number == number && opened->header.key_phase() == phase;
  };
  EXPECT_TRUE(opens(first, 0, false));
  EXPECT_TRUE(opens(first, 1, false));
  EXPECT_TRUE(opens(second, 3, true));
  EXPECT_TRUE(opens(first, 2, false)) << "overtaken by the key update";
  EXPECT_TRUE(opens(second, 4, true));
  EXPECT_TRUE(opens(third, 5, false));
  EXPECT_FALSE(opens(first, 6, false)) << "two generations ago";
  EXPECT_TRUE(opens(third, 7, false));
}

TEST(QuicDissection, StatelessResetIsKnownByItsToken) {
  HandMade talk;
  Bytes frames = {0x18, 1, 0, 4, 8, 8, 8, 8};
  const Bytes token = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  frames.insert(frames.end(), token.begin(), token.end());
  talk.add(Direction::ToServer, seal_client_initial(talk.origin, talk.client_id, 0, frames));
  Bytes reset(30, 0x45);
  std::ranges::copy(token, reset.end() - 16);
  talk.add(Direction::ToServer, reset);
  reset.back() ^= 1;
  talk.add(Direction::ToServer, reset);
  const auto dissection = talk.dissect();
  expect_exact(dissection);
  EXPECT_EQ(dissection.quic_packets.at(1).type, QuicPacketType::StatelessReset);
  EXPECT_EQ(dissection.quic_packets.at(2).type, QuicPacketType::OneRtt);
  EXPECT_EQ(octets_of(dissection, TileKind::QuicStatelessReset), 30u);
}

TEST(QuicDissection, ClientThatMovesIsFollowedByItsId) {
  auto lookup = World(Plan(Transport::Doq)).run();
  // From the tenth packet on the client has another port, as behind a NAT that forgot it.
  for (std::size_t i = 9; i < lookup.packets.size(); ++i) {
    auto& packet = lookup.packets[i];
    const std::size_t port_at = packet.place.direction == Direction::ToServer ? 20 : 22;
    packet.bytes[port_at] = 0x12;
  }
  ASSERT_GT(lookup.packets.size(), 10u);
  const auto dissection = lookup.dissect();
  expect_exact(dissection);
  EXPECT_EQ(dissection.quic_connections.size(), 1u);
  EXPECT_EQ(octets_of(dissection, TileKind::QuicCiphertext), 0u);
  EXPECT_EQ(octets_of(dissection, TileKind::UdpPayload), 0u);
}

TEST(QuicDissection, WhatIsNoQuicIsAPayload) {
  std::vector<RecordedPacket> packets;
  for (const auto& payload :
       {Bytes{}, Bytes{0x40}, Bytes(30, 0x40), Bytes(30, 0xc0), Bytes(1300, 0xff), Bytes(5, 0x80)})
    packets.push_back(
        recorded(Direction::ToServer, Timestamp{1s}, udp(client_of(853), server_of(853), payload)));
  const auto dissection = dissect(observe(packets), {});
  expect_exact(dissection);
}

}  // namespace
}  // namespace doxlab::dissect
