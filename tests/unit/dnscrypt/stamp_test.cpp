#include "dnscrypt/stamp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace doxlab::dnscrypt {
namespace {

using testing::HasSubstr;

// A stamp that AdGuard publishes.
constexpr std::string_view kPublished =
    "sdns://"
    "AQIAAAAAAAAAFDE3Ni4xMDMuMTMwLjEzMDo1NDQzINErR_JS3PLCu_iZEIbq95zkSV2LFsigxDIuUso_OQhzIjIuZG5zY3J5cHQuZGVm"
    "YXVsdC5uczEuYWRndWFyZC5jb20";

TEST(Stamp, PublishedOneIsRead) {
  const auto stamp = parse_stamp(kPublished);
  ASSERT_TRUE(stamp);
  EXPECT_EQ(stamp->properties, Stamp::kNoLogs);
  EXPECT_EQ(stamp->address.to_string(), "176.103.130.130:5443");
  EXPECT_EQ(to_hex(stamp->provider_key), "d12b47f252dcf2c2bbf8991086eaf79ce4495d8b16c8a0c4322e52ca3f390873");
  EXPECT_EQ(stamp->provider_name, "2.dnscrypt.default.ns1.adguard.com");
  EXPECT_EQ(to_string(*stamp), kPublished);
}

TEST(Stamp, RoundTrips) {
  for (const char* ip : {"192.0.2.1", "2001:db8::1"}) {
    for (const std::uint16_t port : std::to_array<std::uint16_t>({443, 53, 8443})) {
      Stamp stamp;
      stamp.properties = Stamp::kDnssec | Stamp::kNoFilter | std::uint64_t{1} << 63;
      stamp.address = {IpAddress::parse(ip).value(), port};
      stamp.provider_key = random_octets<32>();
      stamp.provider_name = "2.dnscrypt-cert.example.com";
      EXPECT_EQ(parse_stamp(to_string(stamp)).value(), stamp);
    }
  }
}

TEST(Stamp, OtherProtocolsAreRefused) {
  // DNS over HTTPS has protocol 2.
  EXPECT_THAT(parse_stamp("sdns://AgcAAAAAAAAA").error().message, HasSubstr("protocol 2"));
  EXPECT_FALSE(parse_stamp("https://example.com"));
  EXPECT_FALSE(parse_stamp("sdns://"));
  EXPECT_FALSE(parse_stamp(""));
}

TEST(Stamp, CutAnywhereItIsRefused) {
  for (std::size_t size = 0; size < kPublished.size(); ++size)
    EXPECT_FALSE(parse_stamp(kPublished.substr(0, size))) << size;
  EXPECT_FALSE(parse_stamp(std::string(kPublished) + "AAAA"));
  EXPECT_FALSE(parse_stamp(std::string(kPublished) + "="));
}

TEST(Stamp, SurvivesRandomText) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string text(kPublished);
    for (auto change = 1 + random() % 3; change > 0; --change)
      text[7 + random() % (text.size() - 7)] = static_cast<char>('0' + random() % 75);
    const auto stamp = parse_stamp(text);
    if (!stamp) continue;
    EXPECT_EQ(parse_stamp(to_string(*stamp)).value(), *stamp);
  }
}

}  // namespace
}  // namespace doxlab::dnscrypt
