#include <gmock/gmock.h>

#include "dns/message.hpp"
#include "dns/scan.hpp"

namespace doxlab::dns {
namespace {

TEST(ComposeQuery, BytesWithoutEdns) {
  const auto query = compose_query("www.Example.com", 1, {.id = 0xabcd, .edns = false});
  ASSERT_TRUE(query);
  EXPECT_EQ(to_hex(*query), "abcd01000001000000000000" "03777777" "074578616d706c65" "03636f6d00" "00010001");
}

TEST(ComposeQuery, BytesWithEdns) {
  const auto query = compose_query(".", 2, {.recursion_desired = false, .udp_payload_size = 4096, .dnssec_ok = true});
  ASSERT_TRUE(query);
  EXPECT_EQ(to_hex(*query), "000000000001000000000001" "00" "00020001" "00" "0029" "1000" "00008000" "0000");
}

TEST(ComposeQuery, PaddingIsExactForEveryNameLength) {
  for (std::size_t length = 1; length <= 240; ++length) {
    std::string name;
    while (name.size() < length) name += name.size() % 2 == 0 ? 'a' : '.';
    for (const std::size_t multiple : {1, 2, 16, 128, 468, 1000}) {
      const auto query = compose_query(name, 28, {.pad_to_multiple = multiple});
      ASSERT_TRUE(query);
      EXPECT_EQ(query->size() % multiple, 0u) << name << " to " << multiple;
      const auto unpadded = compose_query(name, 28);
      EXPECT_LT(query->size(), unpadded->size() + 4 + multiple);
      EXPECT_GE(query->size(), unpadded->size() + 4);
      const auto message = parse_message(*query);
      ASSERT_TRUE(message) << message.error().message;
      EXPECT_TRUE(message->has_padding);
      EXPECT_EQ(message->padding_bytes, query->size() - unpadded->size() - 4);
    }
  }
}

TEST(ComposeQuery, PaddingIsZerosAndNeverExceedsTheLargestMessage) {
  const auto query = compose_query("example.com", 1, {.pad_to_multiple = 1'000'000});
  ASSERT_TRUE(query);
  EXPECT_EQ(query->size(), 65'535u);
  EXPECT_TRUE(parse_message(*query));
  const BytesView padding = BytesView(*query).subspan(12 + 13 + 4 + 11 + 4);
  EXPECT_TRUE(std::ranges::all_of(padding, [](auto octet) { return octet == 0; }));
}

TEST(ComposeQuery, NoPaddingWithoutEdns) {
  const auto query = compose_query("example.com", 1, {.edns = false, .pad_to_multiple = 128});
  ASSERT_TRUE(query);
  EXPECT_EQ(query->size(), 12u + 13 + 4);
}

TEST(ComposeQuery, BadNamesAreErrors) {
  EXPECT_FALSE(compose_query("", 1));
  EXPECT_FALSE(compose_query("a..b", 1));
}

TEST(ParseType, MnemonicsGenericNamesAndNumbers) {
  const std::pair<const char*, std::uint16_t> cases[] = {{"A", 1},       {"aaaa", 28},       {"HTTPS", 65},
                                                         {"ANY", 255},   {"TYPE65400", 65400}, {"type1", 1},
                                                         {"65535", 65535}, {"0", 0}};
  for (const auto& [text, type] : cases) EXPECT_EQ(parse_type(text).value_or(9999), type) << text;
  for (const auto* text : {"", "AAAAA", "TYPE", "TYPE65536", "65536", "-1", "1x", "TYPE-1", " A"}) {
    EXPECT_FALSE(parse_type(text)) << text;
  }
  EXPECT_FALSE(parse_type(std::string_view("A\0A", 3)));
  EXPECT_FALSE(parse_type(std::string(100'000, 'A')));
}

TEST(ParseType, EveryTypeSurvivesTheRoundTrip) {
  for (int type = 0; type <= 65535; ++type) {
    const auto text = type_to_string(static_cast<std::uint16_t>(type));
    ASSERT_EQ(parse_type(text).value_or(0), type) << text;
  }
}

TEST(RcodeToString, NamesAndNumbers) {
  EXPECT_EQ(rcode_to_string(0), "NOERROR");
  EXPECT_EQ(rcode_to_string(3), "NXDOMAIN");
  EXPECT_EQ(rcode_to_string(11), "DSOTYPENI");
  EXPECT_EQ(rcode_to_string(12), "RCODE12");
  EXPECT_EQ(rcode_to_string(16), "BADVERS");
  EXPECT_EQ(rcode_to_string(23), "BADCOOKIE");
  EXPECT_EQ(rcode_to_string(24), "RCODE24");
  EXPECT_EQ(rcode_to_string(4095), "RCODE4095");
}

}  // namespace
}  // namespace doxlab::dns
