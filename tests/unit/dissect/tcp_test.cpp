// TCP streams: who sent and who delivered each octet first.
#include <gmock/gmock.h>

#include "check.hpp"
#include "wire.hpp"

namespace doxlab::dissect {
namespace {

using link::Direction;
using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;
using Owned = RangeOwners::Owned;

Bytes run(std::size_t length, std::uint8_t value = 'x') {
  return Bytes(length, value);
}

Dissection dissect_tape(const TcpTape& tape) {
  return dissect(observe(tape.packets), {});
}

TEST(TcpDissection, OffsetsBeginBehindSynAndWrap) {
  TcpTape tape(853, 0xffff'fffe);
  tape.open();
  tape.send(Direction::ToServer, run(3000));
  const auto out = dissect_tape(tape);
  expect_exact(out);
  ASSERT_EQ(out.tcp_connections.size(), 1u);
  EXPECT_TRUE(out.tcp_connections[0].has_syn);
  EXPECT_EQ(out.tcp_connections[0].client, client_of(853));
  EXPECT_EQ(out.tcp_connections[0].streams[0].end(), 3000u);
  EXPECT_EQ(out.tcp_connections[0].streams[0].prefix().size(), 3000u);
  EXPECT_EQ(out.segments[4].stream_offset, 1448u);
  EXPECT_EQ(octets_by_kind(out).at(TileKind::TcpOptions), 8u);
}

TEST(TcpDissection, RetransmissionIsRepeatedAndDeliversWhatWasLost) {
  TcpTape tape(853);
  tape.open();
  tape.send(Direction::ToServer, run(1000), true);  // packet 3, lost
  tape.send(Direction::ToServer, run(500));         // packet 4
  tape.repeat(3);                                   // packet 5
  tape.repeat(4);                                   // packet 6, for nothing
  const auto out = dissect_tape(tape);
  expect_exact(out);
  EXPECT_THAT(out.segments[3].repeated, IsEmpty());
  EXPECT_THAT(out.segments[5].repeated, ElementsAre(ByteRange{0, 1000}));
  EXPECT_THAT(out.segments[6].repeated, ElementsAre(ByteRange{1000, 1500}));
  const auto& connection = out.tcp_connections[0];
  EXPECT_THAT(connection.streams[0].sent().all(), ElementsAre(Owned{{0, 1000}, 3}, Owned{{1000, 1500}, 4}));
  EXPECT_THAT(connection.delivered_by[0].all(), ElementsAre(Owned{{0, 1000}, 5}, Owned{{1000, 1500}, 4}));
  EXPECT_TRUE(out.packets[5].tiles.back().repeated);
  EXPECT_FALSE(out.packets[3].tiles.back().repeated);
}

TEST(TcpDissection, PartlyRepeatedSegmentIsCut) {
  TcpTape tape(853);
  tape.open();
  tape.send(Direction::ToServer, run(100));
  const auto client = client_of(853), server = server_of(853);
  // Octets 50 to 249 in one segment: half of the first once more, then new ones.
  tape.packets.push_back(recorded(Direction::ToServer, tape.clock + 1ms,
                                  tcp(client, server, {0xffff'f001 + 50, 78, 0x10, {}}, run(200, 'y'))));
  const auto out = dissect_tape(tape);
  expect_exact(out);
  EXPECT_THAT(out.segments.back().repeated, ElementsAre(ByteRange{50, 100}));
  const auto& tiles = out.packets.back().tiles;
  ASSERT_EQ(tiles.size(), 4u);
  EXPECT_EQ(tiles[2].length, 50u);
  EXPECT_TRUE(tiles[2].repeated);
  EXPECT_EQ(tiles[3].length, 150u);
  EXPECT_FALSE(tiles[3].repeated);
  // The first copy of an octet stays.
  EXPECT_EQ(out.tcp_connections[0].streams[0].prefix()[99], 'x');
  EXPECT_EQ(out.tcp_connections[0].streams[0].prefix()[100], 'y');
}

TEST(TcpDissection, OrderOfDeliveryDecidesWhoDelivered) {
  TcpTape tape(853);
  tape.open();
  tape.send(Direction::ToServer, run(100));  // packet 3
  tape.repeat(3);                            // packet 4, overtakes it
  tape.packets[3].delivered = tape.packets[4].delivered.value() + 1ms;
  const auto out = dissect_tape(tape);
  EXPECT_THAT(out.tcp_connections[0].delivered_by[0].all(), ElementsAre(Owned{{0, 100}, 4}));
  EXPECT_THAT(out.tcp_connections[0].streams[0].sent().all(), ElementsAre(Owned{{0, 100}, 3}));
}

TEST(TcpDissection, SynWithDataBeginsTheStream) {
  const auto client = client_of(53), server = server_of(53);
  std::vector<RecordedPacket> packets;
  packets.push_back(
      recorded(Direction::ToServer, Timestamp{1s}, tcp(client, server, {1000, 0, 0x02, {}}, run(10))));
  packets.push_back(
      recorded(Direction::ToClient, Timestamp{2s}, tcp(server, client, {5, 1011, 0x12, {}}, {})));
  packets.push_back(
      recorded(Direction::ToServer, Timestamp{3s}, tcp(client, server, {1011, 6, 0x18, {}}, run(5))));
  const auto out = dissect(observe(packets), {});
  expect_exact(out);
  EXPECT_EQ(out.segments[0].stream_offset, 0u);
  EXPECT_EQ(out.segments[2].stream_offset, 10u);
}

TEST(TcpDissection, KeepAliveBeforeTheStreamIsNoData) {
  TcpTape tape(853);
  tape.open();
  const auto client = client_of(853), server = server_of(853);
  tape.packets.push_back(recorded(Direction::ToServer, tape.clock + 1ms,
                                  tcp(client, server, {0xffff'f000, 78, 0x10, {}}, run(1))));
  tape.send(Direction::ToServer, run(10, 'z'));
  const auto out = dissect_tape(tape);
  expect_exact(out);
  EXPECT_FALSE(out.segments[3].stream_offset);
  EXPECT_EQ(out.tcp_connections[0].streams[0].prefix()[0], 'z');
}

TEST(TcpDissection, AnotherSynBeginsAnotherConnection) {
  TcpTape first(853, 100), second(853, 5000);
  first.open();
  first.send(Direction::ToServer, run(10));
  second.clock = first.clock + 1s;
  second.open();
  second.send(Direction::ToServer, run(20));
  auto packets = first.packets;
  packets.push_back(packets[0]);  // the first SYN again is no new connection
  packets.insert(packets.end(), second.packets.begin(), second.packets.end());
  const auto out = dissect(observe(packets), {});
  expect_exact(out);
  ASSERT_EQ(out.tcp_connections.size(), 2u);
  EXPECT_EQ(out.tcp_connections[0].streams[0].end(), 10u);
  EXPECT_EQ(out.tcp_connections[1].streams[0].end(), 20u);
}

TEST(TcpDissection, DirectionsAreGuessedWhereTheObserverDoesNotKnow) {
  TcpTape tape(853);
  tape.open();
  tape.send(Direction::ToServer, run(10));
  auto observed = observe(tape.packets);
  for (auto& packet : observed) packet.direction.reset();
  // From the middle, beginning with the server's packet.
  const auto out = dissect(std::span(observed).subspan(1), {});
  EXPECT_EQ(out.packets[0].direction, Direction::ToClient);
  EXPECT_EQ(out.tcp_connections[0].client, client_of(853));
}

TEST(TcpDissection, HugeOffsetsCostNoMemory) {
  TcpTape tape(853, 0);
  tape.open();
  const auto client = client_of(853), server = server_of(853);
  for (std::uint32_t i = 0; i < 100; ++i)
    tape.packets.push_back(recorded(Direction::ToServer, tape.clock,
                                    tcp(client, server, {i * 0x1000'0000, 78, 0x10, {}}, run(1))));
  const auto out = dissect_tape(tape);
  expect_exact(out);
  EXPECT_LE(out.budget->left, std::size_t{64} << 20);
}

TEST(RangeOwners, FirstClaimWins) {
  RangeOwners owners;
  EXPECT_THAT(owners.claim({10, 20}, 1), ElementsAre(ByteRange{10, 20}));
  EXPECT_THAT(owners.claim({5, 25}, 2), ElementsAre(ByteRange{5, 10}, ByteRange{20, 25}));
  EXPECT_THAT(owners.claim({0, 30}, 3), ElementsAre(ByteRange{0, 5}, ByteRange{25, 30}));
  EXPECT_THAT(owners.claim({0, 30}, 4), IsEmpty());
  EXPECT_THAT(owners.all(), ElementsAre(Owned{{0, 5}, 3}, Owned{{5, 10}, 2}, Owned{{10, 20}, 1},
                                        Owned{{20, 25}, 2}, Owned{{25, 30}, 3}));
  EXPECT_TRUE(owners.covers({0, 30}));
  EXPECT_FALSE(owners.covers({0, 31}));
  EXPECT_EQ(owners.covered_until(7), 30u);
  EXPECT_EQ(owners.covered_until(30), 30u);
}

}  // namespace
}  // namespace doxlab::dissect
