#include "capture/packet.hpp"

#include <gtest/gtest.h>

#include <random>

#include "packets.hpp"

namespace doxlab::capture {
namespace {

using namespace test;

constexpr std::uint8_t kTcp = 6, kUdp = 17, kIcmp = 1;
const Bytes kPayload = {'a', 'b', 'c', 'd', 'e'};

TEST(ParseHeaders, Ipv4Udp) {
  const auto packet = ipv4(kUdp, udp(kPayload));
  const auto headers = parse_headers(packet);
  ASSERT_TRUE(headers);
  EXPECT_EQ(headers->protocol, Protocol::Udp);
  EXPECT_EQ(headers->source.to_string(), "10.66.1.1:40000");
  EXPECT_EQ(headers->destination.to_string(), "10.66.0.1:53");
  EXPECT_EQ(headers->ip_header_bytes, 20);
  EXPECT_EQ(headers->transport_header_bytes, 8);
  EXPECT_EQ(to_bytes(headers->payload), kPayload);
}

TEST(ParseHeaders, Ipv4WithOptionsAndTcpWithOptions) {
  const auto packet = ipv4(kTcp, tcp(0x18, Bytes(12, 1), kPayload), Bytes(8, 1));
  const auto headers = parse_headers(packet);
  ASSERT_TRUE(headers);
  EXPECT_EQ(headers->protocol, Protocol::Tcp);
  EXPECT_EQ(headers->ip_header_bytes, 28);
  EXPECT_EQ(headers->transport_header_bytes, 32);
  EXPECT_EQ(headers->tcp_flags, 0x18);
  EXPECT_EQ(headers->destination.port, 853);
  EXPECT_EQ(to_bytes(headers->payload), kPayload);
}

TEST(ParseHeaders, Ipv6TcpAndUdp) {
  const auto with_tcp = ipv6(kTcp, tcp(0x02, {}, {}));
  auto headers = parse_headers(with_tcp);
  ASSERT_TRUE(headers);
  EXPECT_EQ(headers->source.to_string(), "[fd66:1::1]:40000");
  EXPECT_EQ(headers->ip_header_bytes, 40);
  EXPECT_TRUE(headers->payload.empty());

  const auto with_udp = ipv6(kUdp, udp(kPayload));
  headers = parse_headers(with_udp);
  ASSERT_TRUE(headers);
  EXPECT_EQ(to_bytes(headers->payload), kPayload);
}

TEST(ParseHeaders, Ipv6ExtensionHeadersCountAsIpHeader) {
  const Bytes hop_by_hop = {60, 0, 1, 4, 0, 0, 0, 0};
  const Bytes destination_options = {43, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const Bytes routing = {51, 0, 0, 0, 0, 0, 0, 0};
  const Bytes authentication = {kUdp, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const auto packet =
      ipv6(0, concatenated({hop_by_hop, destination_options, routing, authentication, udp(kPayload)}));
  const auto headers = parse_headers(packet);
  ASSERT_TRUE(headers);
  EXPECT_EQ(headers->ip_header_bytes, 40 + 8 + 16 + 8 + 12);
  EXPECT_EQ(to_bytes(headers->payload), kPayload);
}

TEST(ParseHeaders, FirstFragmentHasPortsAndLaterOnesHaveNone) {
  constexpr std::uint16_t kMore = 0x2000;
  auto datagram = udp(Bytes(2000, 7));
  const Bytes first_part(datagram.begin(), datagram.begin() + 1480),
      rest(datagram.begin() + 1480, datagram.end());

  const auto first = ipv4(kUdp, first_part, {}, kMore);
  auto headers = parse_headers(first);
  ASSERT_TRUE(headers);
  EXPECT_EQ(headers->protocol, Protocol::Udp);
  EXPECT_EQ(headers->source.port, 40000);
  EXPECT_EQ(headers->payload.size(), 1472);

  const auto second = ipv4(kUdp, rest, {}, 1480 / 8);
  headers = parse_headers(second);
  ASSERT_TRUE(headers);
  EXPECT_EQ(headers->protocol, Protocol::Other);
  EXPECT_EQ(headers->source.port, 0);
  EXPECT_EQ(headers->source.ip.to_string(), "10.66.1.1");
  EXPECT_EQ(headers->payload.size(), rest.size());

  const Bytes fragment_header = {kUdp, 0, 0x05, 0xc8, 0, 0, 0, 1};
  const auto later = ipv6(44, concatenated({fragment_header, rest}));
  headers = parse_headers(later);
  ASSERT_TRUE(headers);
  EXPECT_EQ(headers->protocol, Protocol::Other);
  EXPECT_EQ(headers->ip_header_bytes, 48);
}

TEST(ParseHeaders, OctetsBeyondTheLengthFieldAreNotPayload) {
  auto packet = ipv4(kUdp, udp(kPayload));
  packet.resize(packet.size() + 10);
  const auto headers = parse_headers(packet);
  ASSERT_TRUE(headers);
  EXPECT_EQ(to_bytes(headers->payload), kPayload);
}

TEST(ParseHeaders, NeitherTcpNorUdpIsEmpty) {
  EXPECT_FALSE(parse_headers(ipv4(kIcmp, Bytes(8, 0))));
  EXPECT_FALSE(parse_headers(ipv6(58, Bytes(8, 0))));
  EXPECT_FALSE(parse_headers({}));
  EXPECT_FALSE(parse_headers(Bytes{0x55, 1, 2, 3}));
}

TEST(ParseHeaders, WrongLengthsAreEmpty) {
  const auto good = ipv4(kTcp, tcp(0x10, {}, kPayload));
  ASSERT_TRUE(parse_headers(good));
  auto packet = good;
  packet[0] = 0x44;  // IP header of 16 octets
  EXPECT_FALSE(parse_headers(packet));
  packet = good;
  packet[3] = 19;  // total length below the header's
  EXPECT_FALSE(parse_headers(packet));
  packet = good;
  packet[32] = 0x40;  // TCP header of 16 octets
  EXPECT_FALSE(parse_headers(packet));
  packet[32] = 0xf0;  // of 60
  EXPECT_FALSE(parse_headers(packet));
  packet = ipv4(kUdp, udp(kPayload));
  packet[25] = 7;  // UDP length below the header's
  EXPECT_FALSE(parse_headers(packet));
  packet[25] = 14;  // and beyond the packet
  EXPECT_FALSE(parse_headers(packet));
}

TEST(ParseHeaders, EveryTruncationIsEmpty) {
  const Bytes hop_by_hop = {kTcp, 0, 1, 4, 0, 0, 0, 0};
  for (const auto& packet :
       {ipv4(kUdp, udp(kPayload)), ipv4(kTcp, tcp(2, Bytes(20, 1), kPayload), Bytes(4, 1)),
        ipv6(0, concatenated({hop_by_hop, tcp(2, {}, kPayload)}))})
    for (std::size_t length = 0; length < packet.size(); ++length)
      EXPECT_FALSE(parse_headers(BytesView(packet).first(length))) << length;
}

// Hostile input: whatever comes, the views stay inside the packet (the sanitizers watch the rest).
TEST(ParseHeaders, RandomChangesNeverReachOutside) {
  constexpr unsigned kSeed = 20;
  std::mt19937 random(kSeed);
  const Bytes hop_by_hop = {60, 0, 1, 4, 0, 0, 0, 0}, options = {kTcp, 0, 1, 4, 0, 0, 0, 0};
  const std::array seeds = {ipv4(kUdp, udp(kPayload)),
                            ipv4(kTcp, tcp(2, Bytes(20, 1), kPayload), Bytes(4, 1)),
                            ipv6(0, concatenated({hop_by_hop, options, tcp(2, {}, kPayload)}))};
  for (int i = 0; i < 100'000; ++i) {
    auto packet = seeds[static_cast<std::size_t>(i) % seeds.size()];
    for (unsigned changes = random() % 4 + 1; changes > 0; --changes)
      packet[random() % packet.size()] = static_cast<std::uint8_t>(random());
    packet.resize(random() % (packet.size() + 1));
    if (const auto headers = parse_headers(packet); headers && !headers->payload.empty()) {
      ASSERT_GE(headers->payload.data(), packet.data());
      ASSERT_LE(headers->payload.data() + headers->payload.size(), packet.data() + packet.size());
    }
  }
}

}  // namespace
}  // namespace doxlab::capture
