#include <gmock/gmock.h>

#include <format>

#include "unit/resolver/ask.hpp"

namespace doxlab::resolver {
namespace {

constexpr std::string_view kSoa = "@ SOA ns host 1 2 3 4 5\n";

std::string problem(std::string_view text, std::string_view origin = "example.") {
  const auto zone = Zone::parse(text, origin);
  return zone ? "accepted" : zone.error().message;
}

TEST(ZoneParse, ErrorsNameTheLine) {
  const auto after_soa = [](std::string_view rest) { return problem(std::string(kSoa) + std::string(rest)); };
  EXPECT_EQ(after_soa("a A 192.0.2.1\n\nb A 192.0.2\n"), "line 4: invalid IPv4 address");
  EXPECT_EQ(after_soa("a A 192.0.2"), "line 2: invalid IPv4 address") << "no final newline";
  EXPECT_EQ(after_soa("$INCLUDE other\n"), "line 2: $INCLUDE is not supported");
  EXPECT_EQ(after_soa("a CH TXT x\n"), "line 2: unsupported record type");
  EXPECT_EQ(after_soa("a DNAME b\n"), "line 2: DNAME is not supported");
  EXPECT_EQ(after_soa("a CNAME b\na A 192.0.2.1\n"), "line 3: CNAME and A cannot have the same name");
  EXPECT_EQ(after_soa("a A 192.0.2.1\nA CNAME b\n"), "line 3: CNAME and A cannot have the same name");
  EXPECT_EQ(after_soa("a CNAME b\na CNAME c\n"), "line 3: second CNAME record of the same name");
  EXPECT_EQ(after_soa("@ SOA ns host 9 9 9 9 9\n"), "line 2: second SOA record of the same zone");
  EXPECT_EQ(after_soa("a TYPE41 \\# 0\n"), "line 2: a record of type OPT cannot be in a zone");
  EXPECT_EQ(after_soa("a TYPE250 \\# 0\n"), "line 2: a record of type TSIG cannot be in a zone");
  EXPECT_EQ(after_soa("a A 192.0.2.1\nother.test. A 192.0.2.2\n"),
            "line 3: other.test. is in no zone: no SOA record at it or above it");
  EXPECT_EQ(after_soa("a TXT \"open\n"), "line 2: invalid text character");
}

TEST(ZoneParse, GenericRdataMustFitItsType) {
  const auto with = [](std::string_view type, std::string_view rdata) {
    return problem(std::format("{}a {} \\# {}\n", kSoa, type, rdata));
  };
  EXPECT_EQ(with("A", "4 c0000201"), "accepted");
  EXPECT_EQ(with("TYPE1", "3 c00002"), "line 2: rdata does not fit the type A");
  EXPECT_EQ(with("TYPE2", "3 016100"), "accepted");
  EXPECT_EQ(with("TYPE2", "2 0161"), "line 2: rdata does not fit the type NS") << "no final octet";
  EXPECT_EQ(with("TYPE2", "4 01610000"), "line 2: rdata does not fit the type NS") << "an octet too many";
  EXPECT_EQ(with("TYPE5", "2 c00c"), "line 2: rdata does not fit the type CNAME") << "a pointer";
  EXPECT_EQ(with("TYPE15", "1 00"), "line 2: rdata does not fit the type MX");
  EXPECT_EQ(with("TYPE6", "2 0000"), "line 2: rdata does not fit the type SOA");
}

TEST(ZoneParse, NothingIsAnError) {
  EXPECT_EQ(problem(""), "the zone has no records");
  EXPECT_EQ(problem("; a comment\n\n"), "the zone has no records");
  EXPECT_EQ(problem("a A 192.0.2.1\n"), "line 1: a.example. is in no zone: no SOA record at it or above it");
}

TEST(ZoneParse, BadOriginIsAnError) {
  EXPECT_THAT(problem(kSoa, "a..b"), ::testing::StartsWith("origin: empty label"));
}

TEST(ZoneParse, EveryPrefixOfAZoneEndsInAZoneOrAnError) {
  const std::string text = "$ORIGIN a.test.\n$TTL 5m\n@ SOA ns host ( 1 2 ; c\n 3 4 5 )\n  NS ns\nns A 192.0.2.1\n"
                           "t TXT \"a b\" c\\\"d\nh HTTPS 1 . alpn=h2\n";
  ASSERT_TRUE(Zone::parse(text));
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto zone = Zone::parse(std::string_view(text).substr(0, size));
    if (!zone) {
      EXPECT_FALSE(zone.error().message.empty());
    }
  }
}

TEST(ZoneParse, SeveralOriginsMakeSeveralZones) {
  const Resolver resolver(zone_of("$ORIGIN one.test.\n@ SOA ns host 1 2 3 4 5\n@ A 192.0.2.1\n"
                                  "$ORIGIN two.test.\n@ SOA ns host 1 2 3 4 5\n@ A 192.0.2.2\nx CNAME one.test.\n"));
  EXPECT_THAT(lines(ask(resolver, "one.test", "A").answer), ::testing::ElementsAre("one.test. A 192.0.2.1"));
  EXPECT_THAT(lines(ask(resolver, "x.two.test", "A").answer),
              ::testing::ElementsAre("x.two.test. CNAME one.test.", "one.test. A 192.0.2.1"));
  EXPECT_EQ(ask(resolver, "test", "A").rcode, dns::kRefused);
  EXPECT_EQ(ask(resolver, "three.test", "A").rcode, dns::kRefused);
}

TEST(ZoneParse, RootZoneAnswersForEverything) {
  const Resolver resolver(zone_of("@ SOA ns host 1 2 3 4 5\n*. TXT any\n"));
  EXPECT_EQ(ask(resolver, ".", "A").rcode, dns::kNoError);
  EXPECT_THAT(lines(ask(resolver, "a.b.c", "TXT").answer), ::testing::ElementsAre("a.b.c. TXT \"any\""));
}

TEST(ZoneParse, DuplicatesAreDroppedAndTtlsOfASetAreOne) {
  const Resolver resolver(zone_of("$ORIGIN x.test.\n@ SOA ns host 1 2 3 4 5\n@ 60 A 192.0.2.1\n@ 30 A 192.0.2.2\n@ 90 A 192.0.2.1\n"));
  const auto message = ask(resolver, "x.test", "A");
  EXPECT_THAT(lines(message.answer), ::testing::ElementsAre("x.test. A 192.0.2.1", "x.test. A 192.0.2.2"));
  EXPECT_EQ(message.answer[0].ttl, 30u);
  EXPECT_EQ(message.answer[1].ttl, 30u);
}

}  // namespace
}  // namespace doxlab::resolver
