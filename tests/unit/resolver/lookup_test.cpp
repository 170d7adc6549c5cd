#include <gmock/gmock.h>

#include "unit/resolver/ask.hpp"

namespace doxlab::resolver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kZone = R"($ORIGIN example.com.
$TTL 300
@          SOA ns1 host 7 3600 600 604800 60
@          NS ns1
@          MX 10 mail
@          A 192.0.2.1
ns1        A 192.0.2.53
www        CNAME @
alias      CNAME www
missing    CNAME nowhere
away       CNAME www.example.net.
loop1      CNAME loop2
loop2      CNAME loop1
deep.empty A 192.0.2.2
*.wild     A 192.0.2.99
*.wild     MX 5 mail.wild
own.wild   TXT own
*.aliases  CNAME www
odd        TYPE65400 \# 3 010203
sub        NS ns.sub
sub        DS 1 13 2 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
ns.sub     A 192.0.2.77
)";

class Lookup : public ::testing::Test {
 protected:
  const Resolver resolver{zone_of(kZone)};
  dns::Message look_up(std::string_view name, std::string_view type) { return ask(resolver, name, type); }
  static void expect_denied(const dns::Message& message, std::uint16_t rcode) {
    EXPECT_EQ(message.rcode, rcode);
    ASSERT_EQ(message.authority.size(), 1u);
    EXPECT_EQ(lines(message.authority)[0],
              "example.com. SOA ns1.example.com. host.example.com. 7 3600 600 604800 60");
    EXPECT_EQ(message.authority[0].ttl, 60u) << "the smaller of TTL and minimum";
  }
};

TEST_F(Lookup, ExactMatch) {
  const auto message = look_up("example.com", "MX");
  EXPECT_EQ(message.rcode, 0);
  EXPECT_TRUE(message.authoritative && message.is_response && message.recursion_desired);
  EXPECT_FALSE(message.recursion_available || message.truncated);
  EXPECT_THAT(lines(message.answer), ElementsAre("example.com. MX 10 mail.example.com."));
  EXPECT_THAT(message.authority, IsEmpty());
}

TEST_F(Lookup, UnknownTypesAreData) {
  EXPECT_THAT(lines(look_up("odd.example.com", "TYPE65400").answer),
              ElementsAre("odd.example.com. TYPE65400 \\# 3 010203"));
  expect_denied(look_up("odd.example.com", "TYPE65401"), dns::kNoError);
}

TEST_F(Lookup, AliasesAreFollowed) {
  EXPECT_THAT(lines(look_up("alias.example.com", "A").answer),
              ElementsAre("alias.example.com. CNAME www.example.com.", "www.example.com. CNAME example.com.",
                          "example.com. A 192.0.2.1"));
  EXPECT_THAT(lines(look_up("alias.example.com", "CNAME").answer),
              ElementsAre("alias.example.com. CNAME www.example.com."));
}

TEST_F(Lookup, AliasToNothingIsDeniedWithTheRcodeOfItsTarget) {
  const auto gone = look_up("missing.example.com", "A");
  EXPECT_THAT(lines(gone.answer), ElementsAre("missing.example.com. CNAME nowhere.example.com."));
  expect_denied(gone, dns::kNxDomain);  // RFC 6604 §3
  const auto no_data = look_up("www.example.com", "AAAA");
  EXPECT_EQ(no_data.answer.size(), 1u);
  expect_denied(no_data, dns::kNoError);
}

TEST_F(Lookup, AliasOutOfTheZonesEndsThere) {
  const auto message = look_up("away.example.com", "A");
  EXPECT_EQ(message.rcode, 0);
  EXPECT_THAT(lines(message.answer), ElementsAre("away.example.com. CNAME www.example.net."));
  EXPECT_THAT(message.authority, IsEmpty());
}

TEST_F(Lookup, AliasLoopIsServfail) {
  const auto message = look_up("loop1.example.com", "A");
  EXPECT_EQ(message.rcode, dns::kServFail);
  EXPECT_THAT(message.answer, IsEmpty());
}

TEST_F(Lookup, MissingNamesAndMissingTypes) {
  expect_denied(look_up("nope.example.com", "A"), dns::kNxDomain);
  expect_denied(look_up("a.b.c.nope.example.com", "A"), dns::kNxDomain);
  expect_denied(look_up("example.com", "TXT"), dns::kNoError);
  expect_denied(look_up("empty.example.com", "A"), dns::kNoError);  // it has children only (RFC 8020)
  expect_denied(look_up("x.empty.example.com", "A"), dns::kNxDomain);
}

TEST_F(Lookup, WildcardsFollowRfc4592) {
  EXPECT_THAT(lines(look_up("any.wild.example.com", "A").answer), ElementsAre("any.wild.example.com. A 192.0.2.99"));
  EXPECT_THAT(lines(look_up("a.b.wild.example.com", "MX").answer),
              ElementsAre("a.b.wild.example.com. MX 5 mail.wild.example.com."));
  EXPECT_THAT(lines(look_up("*.wild.example.com", "A").answer), ElementsAre("*.wild.example.com. A 192.0.2.99"));
  EXPECT_THAT(lines(look_up("x.aliases.example.com", "A").answer),
              ElementsAre("x.aliases.example.com. CNAME www.example.com.", "www.example.com. CNAME example.com.",
                          "example.com. A 192.0.2.1"));
  expect_denied(look_up("any.wild.example.com", "TXT"), dns::kNoError);
  expect_denied(look_up("own.wild.example.com", "A"), dns::kNoError);      // a name of its own: no wildcard
  expect_denied(look_up("x.own.wild.example.com", "A"), dns::kNxDomain);   // its closest encloser has no wildcard
  expect_denied(look_up("wild.example.com", "A"), dns::kNoError);
}

TEST_F(Lookup, LongestNamesWork) {
  const std::string label(63, 'l');
  // 3 * 64 + 44 + "wild.example.com." of 18 octets is 254 octets, then 255.
  const auto long_name = label + "." + label + "." + label + "." + std::string(44, 'l') + ".wild.example.com";
  EXPECT_EQ(look_up(long_name, "A").answer.at(0).name, long_name + ".");
  std::string many;
  for (int i = 0; i < 118; ++i) many += "x.";
  EXPECT_EQ(look_up(many + "wild.example.com", "A").answer.size(), 1u);
}

TEST_F(Lookup, DelegationsAreReferred) {
  for (const auto* name : {"sub.example.com", "x.y.sub.example.com", "ns.sub.example.com"}) {
    const auto message = look_up(name, "A");
    EXPECT_EQ(message.rcode, 0);
    EXPECT_FALSE(message.authoritative);
    EXPECT_THAT(message.answer, IsEmpty());
    EXPECT_THAT(lines(message.authority), ElementsAre("sub.example.com. NS ns.sub.example.com."));
    EXPECT_THAT(lines(message.additional), ElementsAre("ns.sub.example.com. A 192.0.2.77"));
  }
  const auto ds = look_up("sub.example.com", "DS");
  EXPECT_TRUE(ds.authoritative);
  EXPECT_EQ(ds.answer.size(), 1u);
}

TEST_F(Lookup, AnyGivesTheSmallestSet) {
  EXPECT_THAT(lines(look_up("example.com", "ANY").answer), ElementsAre("example.com. A 192.0.2.1"));
  EXPECT_THAT(lines(look_up("www.example.com", "ANY").answer), ElementsAre("www.example.com. CNAME example.com."));
  expect_denied(look_up("empty.example.com", "ANY"), dns::kNoError);
  expect_denied(look_up("nope.example.com", "ANY"), dns::kNxDomain);
}

TEST_F(Lookup, OutsideOfEveryZoneIsRefused) {
  for (const auto* name : {".", "com", "example.net", "xexample.com", "com.example"}) {
    const auto message = look_up(name, "A");
    EXPECT_EQ(message.rcode, dns::kRefused) << name;
    EXPECT_FALSE(message.authoritative);
    EXPECT_THAT(message.answer, IsEmpty());
  }
}

TEST_F(Lookup, CaseOfTheQuestionIsKeptBitForBit) {
  const auto query = query_for("wWw.eXAMPLE.cOm", "A");
  const auto wire = resolver.answer(query, {});
  EXPECT_TRUE(std::ranges::equal(dns::read_question(query)->name, dns::read_question(wire)->name));
  EXPECT_EQ(dns::parse_message(wire)->answer.size(), 2u);
}

TEST_F(Lookup, BytesOfAnAnswer) {
  EXPECT_EQ(to_hex(resolver.answer(query_for("www.example.com", "A", {.id = 7}), {})),
            "00078500" "0001000200000001"
            "03777777076578616d706c6503636f6d00" "00010001"
            "c00c" "00050001" "0000012c" "0002" "c010"
            "c010" "00010001" "0000012c" "0004" "c0000201"
            "00" "0029" "04d0" "00000000" "0000");
}

TEST(BuiltInZone, HasTheNamesThatMeasurementsUse) {
  const Resolver resolver(Zone::built_in());
  const auto octets = [&](std::string_view name, std::string_view type) {
    return resolver.answer(query_for(name, type), {}).size();
  };
  EXPECT_THAT(lines(ask(resolver, "example.com", "A").answer), ElementsAre("example.com. A 192.0.2.1"));
  EXPECT_THAT(lines(ask(resolver, "example.com", "AAAA").answer), ElementsAre("example.com. AAAA 2001:db8::1"));
  for (const auto* type : {"MX", "TXT", "NS", "SOA", "HTTPS"}) {
    EXPECT_GE(ask(resolver, "example.com", type).answer.size(), 1u) << type;
  }
  EXPECT_EQ(ask(resolver, "www.example.com", "A").answer.size(), 2u);
  EXPECT_EQ(ask(resolver, "x.wild.example.com", "A").answer.size(), 1u);
  EXPECT_LT(octets("small.example.com", "A"), 80u);
  EXPECT_NEAR(static_cast<double>(octets("big.example.com", "TXT")), 4'140, 40);
  EXPECT_NEAR(static_cast<double>(octets("huge.example.com", "TXT")), 20'530, 40);
}

}  // namespace
}  // namespace doxlab::resolver
