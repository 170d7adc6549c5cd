#include "dns/name.hpp"

#include <gmock/gmock.h>

#include "dns/message.hpp"

namespace doxlab::dns {
namespace {

using ::testing::HasSubstr;

TEST(NormalizeName, KeepsCaseAndAddsFinalDot) {
  EXPECT_EQ(normalize_name("wWw.Example.COM").value(), "wWw.Example.COM.");
  EXPECT_EQ(normalize_name("example.com.").value(), "example.com.");
  EXPECT_EQ(normalize_name(".").value(), ".");
  EXPECT_EQ(normalize_name("_dns.resolver.arpa").value(), "_dns.resolver.arpa.");
  EXPECT_EQ(normalize_name("*.wild.example").value(), "*.wild.example.");
}

TEST(NormalizeName, EscapesKeepTheirMeaning) {
  EXPECT_EQ(normalize_name(R"(a\.b.example)").value(), R"(a\.b.example.)");
  EXPECT_EQ(normalize_name(R"(\097\098)").value(), "ab.");
  EXPECT_EQ(normalize_name(R"(a\032b)").value(), R"(a\032b.)");
  EXPECT_EQ(normalize_name(R"(\000\255)").value(), R"(\000\255.)");
  EXPECT_EQ(normalize_name(R"(a\\b)").value(), R"(a\\b.)");
  EXPECT_EQ(name_to_wire(R"(a\.b)").value(), (Bytes{3, 'a', '.', 'b', 0}));
}

TEST(NormalizeName, ErrorsSayWhatAndWhere) {
  const std::string label63(63, 'a'), label64(64, 'a');
  const auto message = [](std::string_view text) {
    const auto result = normalize_name(text);
    return result ? "accepted as " + *result : result.error().message;
  };
  EXPECT_EQ(message(""), "the name is empty; the root is '.'");
  EXPECT_EQ(message("a..b"), "empty label at position 2 of the name 'a..b'");
  EXPECT_EQ(message(".a"), "empty label at position 0 of the name '.a'");
  EXPECT_EQ(message(".."), "empty label at position 0 of the name '..'");
  EXPECT_EQ(message(label64), "label of 64 octets in '" + label64 + "': at most 63");
  EXPECT_THAT(message(std::string(70, 'x') + ".example"), HasSubstr("label of 70 octets"));
  EXPECT_EQ(message("a\\"), "the name 'a\\' ends within an escape");
  EXPECT_EQ(message("a\\12"), "the escape at position 1 of the name 'a\\12' needs three digits");
  EXPECT_EQ(message("\\256"), "the escape \\256 in the name '\\256' is above 255");
  EXPECT_THAT(message("a b"), HasSubstr("must be written as \\032"));
  EXPECT_THAT(message("b\xc3\xbc" "cher.example"), HasSubstr("punycode"));
  EXPECT_THAT(message(std::string_view("a\0b", 3)), HasSubstr("\\000"));
  EXPECT_EQ(normalize_name(label63).value(), label63 + ".");
}

TEST(NormalizeName, LongestNameHas255Octets) {
  const std::string label(63, 'a');
  const auto prefix = label + "." + label + "." + label + ".";
  EXPECT_EQ(name_to_wire(prefix + std::string(61, 'b')).value().size(), 255u);
  const auto result = name_to_wire(prefix + std::string(62, 'b'));
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("takes 256 octets: at most 255"));
  // 127 labels of one octet.
  std::string many;
  for (int i = 0; i < 127; ++i) many += "x.";
  EXPECT_EQ(name_to_wire(many).value().size(), 255u);
  EXPECT_FALSE(name_to_wire(many + "x"));
}

TEST(NameText, EveryOctetSurvivesTheRoundTrip) {
  for (int octet = 0; octet < 256; ++octet) {
    const Bytes wire = {2, static_cast<std::uint8_t>(octet), 'x', 0};
    const auto text = name_to_text(wire);
    const auto back = name_to_wire(text);
    ASSERT_TRUE(back) << text << ": " << back.error().message;
    EXPECT_EQ(*back, wire) << text;
  }
}

TEST(ExpandName, FollowsPointersBackwards) {
  // RFC 1035 §4.1.4: F.ISI.ARPA at 20, FOO.F.ISI.ARPA at 40, ARPA at 64, the root at 92.
  Bytes message(93);
  const auto put = [&](std::size_t at, const Bytes& bytes) {
    for (auto octet : bytes) message.at(at++) = octet;
  };
  put(20, {1, 'F', 3, 'I', 'S', 'I', 4, 'A', 'R', 'P', 'A', 0});
  put(40, {3, 'F', 'O', 'O', 0xc0, 20});
  put(64, {0xc0, 26});
  const std::tuple<std::size_t, const char*, std::size_t> cases[] = {
      {20, "F.ISI.ARPA.", 12}, {40, "FOO.F.ISI.ARPA.", 6}, {64, "ARPA.", 2}, {92, ".", 1}};
  for (const auto& [at, text, octets] : cases) {
    const auto name = expand_name(message, at, message.size());
    ASSERT_TRUE(name) << text;
    EXPECT_EQ(name_to_text(name->wire), text);
    EXPECT_EQ(name->octets_in_message, octets);
    std::size_t expanded = 0;
    EXPECT_EQ(check_name(message, at, message.size(), &expanded), octets);
    EXPECT_EQ(expanded, name->wire.size());
  }
}

TEST(ExpandName, MalformedNamesAreRefused) {
  using namespace std::string_view_literals;
  const std::tuple<const char*, std::string_view, std::size_t> cases[] = {
      {"pointer to itself", "\xc0\x0c"sv, 12},
      {"pointer forward", "\xc0\x10\0\0\1a\0"sv, 12},
      {"pointer into its own labels", "\1a\xc0\x0c"sv, 12},
      {"two pointers in a circle", "\xc0\x0e\xc0\x0c"sv, 14},
      {"pointer into the header", "\xc0\x0b"sv, 12},
      {"pointer behind the end", "\xff\xff"sv, 12},
      {"half a pointer", "\xc0"sv, 12},
      {"label type 01", "\x41" "a\0"sv, 12},
      {"label type 10", "\x81" "a\0"sv, 12},
      {"label runs past the end", "\5ab"sv, 12},
      {"no final octet", "\1a"sv, 12},
      {"nothing", ""sv, 12},
  };
  for (const auto& [what, tail, at] : cases) {
    Bytes message(12);
    for (auto octet : as_bytes(tail)) message.push_back(octet);
    EXPECT_FALSE(expand_name(message, at, message.size())) << what;
    EXPECT_FALSE(check_name(message, at, message.size())) << what;
  }
}

TEST(ExpandName, EndLimitsOnlyThePartBeforeAPointer) {
  Bytes message(12);
  for (auto octet : Bytes{1, 'a', 0, 1, 'b', 0xc0, 12}) message.push_back(octet);
  EXPECT_TRUE(expand_name(message, 15, 19));
  EXPECT_FALSE(expand_name(message, 15, 18));
}

TEST(ExpandName, LongChainsOfPointersAreRefused) {
  Bytes message(12);
  message.push_back(0);
  std::size_t target = 12;
  for (int i = 0; i < 200; ++i) {
    const auto at = message.size();
    message.push_back(static_cast<std::uint8_t>(0xc0 | target >> 8));
    message.push_back(static_cast<std::uint8_t>(target));
    target = at;
  }
  EXPECT_TRUE(check_name(message, 13 + 2 * (kMaxPointerHops - 1), message.size()));
  EXPECT_FALSE(check_name(message, 13 + 2 * kMaxPointerHops, message.size()));
}

TEST(ExpandName, CompressionCannotExceed255Octets) {
  // Each step puts a label of 50 octets in front of the name before: the fifth is 256 octets long.
  Bytes message(12);
  message.push_back(0);
  std::size_t target = 12;
  for (int i = 0; i < 5; ++i) {
    const auto at = message.size();
    message.push_back(50);
    message.insert(message.end(), 50, 'l');
    message.push_back(static_cast<std::uint8_t>(0xc0 | target >> 8));
    message.push_back(static_cast<std::uint8_t>(target));
    EXPECT_EQ(check_name(message, at, message.size()).has_value(), i < 4);
    target = at;
  }
}

TEST(EqualIgnoringCase, TouchesLettersOnly) {
  EXPECT_TRUE(equal_ignoring_case(as_bytes("eXaMpLe"), as_bytes("ExAmPlE")));
  EXPECT_FALSE(equal_ignoring_case(as_bytes("a[b"), as_bytes("a{b")));
  EXPECT_FALSE(equal_ignoring_case(as_bytes("a@b"), as_bytes("a`b")));
  EXPECT_FALSE(equal_ignoring_case(as_bytes("ab"), as_bytes("abc")));
}

}  // namespace
}  // namespace doxlab::dns
