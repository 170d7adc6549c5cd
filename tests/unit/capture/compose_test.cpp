#include "capture/compose.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "capture/packet.hpp"
#include "packets.hpp"

namespace doxlab::capture {
namespace {

Bytes numbered(std::size_t size) {
  Bytes out(size);
  std::iota(out.begin(), out.end(), std::uint8_t{0});
  return out;
}

/// RFC 1071 over what is there, checksum included: zero if it is right.
std::uint16_t ones_complement_sum(BytesView bytes, std::uint64_t sum = 0) {
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += i % 2 == 0 ? std::uint64_t{bytes[i]} << 8 : bytes[i];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

TEST(ComposeDatagram, IsReadBackWithRightChecksums) {
  for (const bool v6 : {false, true})
    for (const std::size_t size : {0, 1, 40, 1232}) {
      const SocketAddress source{*IpAddress::parse(v6 ? "2001:db8::1" : "192.0.2.1"), 40000}, destination{*IpAddress::parse(v6 ? "2001:db8::2" : "192.0.2.2"), 53};
      const auto payload = numbered(size);
      const auto packet = compose_datagram(source, destination, payload);
      EXPECT_EQ(packet.size(), (v6 ? 48 : 28) + size);
      const auto headers = parse_headers(packet);
      ASSERT_TRUE(headers);
      EXPECT_EQ(headers->protocol, Protocol::Udp);
      EXPECT_EQ(headers->source, source);
      EXPECT_EQ(headers->destination, destination);
      EXPECT_EQ(to_bytes(headers->payload), payload);
      if (!v6) {
        EXPECT_EQ(ones_complement_sum(BytesView(packet).first(20)), 0);
      }
      const auto addresses = BytesView(packet).subspan(v6 ? 8 : 12, v6 ? 32 : 8);
      const auto udp = BytesView(packet).subspan(v6 ? 40 : 20);
      EXPECT_EQ(ones_complement_sum(udp, 17 + udp.size() + static_cast<std::uint16_t>(~ones_complement_sum(addresses))), 0);
    }
}

TEST(SplitSegments, GivesEachItsPartSequenceNumberAndFlags) {
  for (const bool v6 : {false, true}) {
    constexpr std::uint8_t kFinPshAckCwr = 0x99;
    const Bytes options(12, 1);
    const auto payload = numbered(250);
    const auto segment = test::tcp(kFinPshAckCwr, options, payload);
    const auto whole = v6 ? test::ipv6(6, segment) : test::ipv4(6, segment);
    const auto parts = split_segments(whole, 100);
    ASSERT_EQ(parts.size(), 3);
    std::size_t at = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto headers = parse_headers(parts[i]);
      ASSERT_TRUE(headers) << i;
      EXPECT_EQ(headers->payload.size(), i == 2 ? 50 : 100);
      EXPECT_EQ(to_bytes(headers->payload), to_bytes(BytesView(payload).subspan(at, headers->payload.size())));
      const auto header = headers->ip_header_bytes;
      EXPECT_EQ(ByteReader(BytesView(parts[i]).subspan(header + 4)).u32(), 1 + at);
      EXPECT_EQ(headers->tcp_flags, i == 0 ? 0x90 : i == 1 ? 0x10 : 0x19) << i;
      if (!v6) {
        EXPECT_EQ(ByteReader(BytesView(parts[i]).subspan(4)).u16(), 1 + i) << "identification";
      }
      at += headers->payload.size();
    }
  }
}

TEST(SplitSegments, OfUdpHaveLengthsOfTheirOwn) {
  const auto parts = split_segments(test::ipv4(17, test::udp(numbered(150))), 100);
  ASSERT_EQ(parts.size(), 2);
  EXPECT_EQ(parts[0].size(), 128);
  EXPECT_EQ(parse_headers(parts[0])->payload.size(), 100);
  EXPECT_EQ(parse_headers(parts[1])->payload.size(), 50);
}

TEST(SplitSegments, LeavesOnePacketAsItIsWithoutPadding) {
  auto packet = test::ipv4(17, test::udp(numbered(4)));
  const auto plain = packet;
  packet.resize(60);
  EXPECT_EQ(split_segments(packet, 0), (std::vector<Bytes>{plain}));
  const auto small = test::ipv4(6, test::tcp(0x10, {}, {}));
  EXPECT_EQ(split_segments(small, 1448), (std::vector<Bytes>{small}));
}

TEST(SplitSegments, TakesPacketsTooLongForTheirLengthField) {
  // The kernel puts more together than 16 bits tell, and leaves the length 0.
  auto whole = test::ipv4(6, test::tcp(0x10, {}, numbered(60'000)));
  const auto more = numbered(40'000);
  whole.insert(whole.end(), more.begin(), more.end());
  whole[2] = whole[3] = 0;
  const auto parts = split_segments(whole, 1000);
  ASSERT_EQ(parts.size(), 100);
  for (const auto& part : parts) EXPECT_EQ(part.size(), 1040);
}

TEST(SplitSegments, RefusesWhatIsNoPacket) {
  EXPECT_TRUE(split_segments({}, 0).empty());
  EXPECT_TRUE(split_segments({}, 100).empty());
  EXPECT_TRUE(split_segments(Bytes(100, 0xff), 100).empty());
  auto packet = test::ipv4(6, test::tcp(0x10, {}, numbered(200)));
  for (std::size_t size = 0; size < packet.size(); ++size) {
    EXPECT_TRUE(split_segments(BytesView(packet).first(size), 0).empty()) << size;
    EXPECT_TRUE(split_segments(BytesView(packet).first(size), 10).empty()) << size;
  }
  packet[32] = 0xf0;  // a TCP header longer than the packet
  EXPECT_TRUE(split_segments(BytesView(packet).first(50), 10).empty());
}

}  // namespace
}  // namespace doxlab::capture
