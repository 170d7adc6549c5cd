#include "dnscrypt/padding.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace doxlab::dnscrypt {
namespace {

TEST(Padding, IsOneMarkThenZeros) {
  EXPECT_EQ(pad(Bytes{1, 2}, 6), (Bytes{1, 2, 0x80, 0, 0, 0}));
  EXPECT_EQ(pad(Bytes{}, 1), Bytes{0x80});
}

TEST(Padding, ComesOffAgain) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    Bytes message(random() % 300);
    for (auto& octet : message)
      octet = random() % 3 == 0 ? 0 : random() % 3 == 0 ? 0x80 : static_cast<std::uint8_t>(random());
    const auto padded = pad(message, message.size() + 1 + random() % 300);
    const auto back = unpad(padded);
    ASSERT_TRUE(back);
    EXPECT_EQ(to_bytes(*back), message);
  }
}

TEST(Padding, WithoutMarkIsRefused) {
  EXPECT_FALSE(unpad({}));
  EXPECT_FALSE(unpad(Bytes(64)));
  EXPECT_FALSE(unpad(Bytes{0x80, 0, 1}));
  EXPECT_FALSE(unpad(Bytes{1, 2, 3}));
  EXPECT_FALSE(unpad(Bytes{0x80, 0, 0x40, 0}));
}

TEST(UdpQuerySize, IsAtLeastTheLeastAndAMultipleOf64) {
  for (std::size_t octets = 12; octets < 2000; ++octets) {
    const auto size = udp_query_size(octets, 256);
    EXPECT_EQ(size % 64, 0u);
    EXPECT_GE(size, 256u);
    EXPECT_GT(size, octets);
    EXPECT_LT(size, std::max<std::size_t>(octets, 255) + 65);
  }
  EXPECT_EQ(udp_query_size(255, 256), 256u);
  EXPECT_EQ(udp_query_size(256, 256), 320u);
}

TEST(TcpQuerySize, ExampleOfTheDraft) {
  std::set<std::size_t> sizes;
  for (int random = 0; random < 256; ++random)
    sizes.insert(tcp_query_size(56, static_cast<std::uint8_t>(random)));
  EXPECT_EQ(sizes, (std::set<std::size_t>{64, 128, 192, 256}));
}

TEST(TcpQuerySize, HasOneTo256OctetsOfPadding) {
  for (std::size_t octets = 12; octets < 600; ++octets) {
    for (std::uint8_t random = 0; random < 4; ++random) {
      const auto padding = tcp_query_size(octets, random) - octets;
      EXPECT_GE(padding, 1u);
      EXPECT_LE(padding, kMaxPaddingOctets);
      EXPECT_EQ((octets + padding) % 64, 0u);
    }
  }
}

TEST(ResponseSize, StaysWithinTheLimit) {
  for (std::size_t octets = 12; octets < 300; ++octets) {
    for (std::size_t limit = octets + 1; limit < octets + 400; limit += 7) {
      for (std::uint8_t choice = 0; choice < 4; ++choice) {
        const auto size = response_size(octets, limit, choice);
        EXPECT_GT(size, octets);
        EXPECT_LE(size, limit);
        EXPECT_LE(size - octets, kMaxPaddingOctets);
        EXPECT_TRUE(size % 64 == 0 || size == limit);
      }
    }
  }
}

}  // namespace
}  // namespace doxlab::dnscrypt
