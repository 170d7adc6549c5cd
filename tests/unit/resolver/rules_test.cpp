// Which queries get which error, and what EDNS does to an answer (RFC 1035, 6891, 7830, 7873, 8906, 9619).
#include <gmock/gmock.h>

#include "unit/dns/wire_builder.hpp"
#include "unit/resolver/ask.hpp"

namespace doxlab::resolver {
namespace {

using ::doxlab::testing::join;
using ::doxlab::testing::option;
using ::doxlab::testing::WireBuilder;

class Rules : public ::testing::Test {
 protected:
  const Resolver resolver{Zone::built_in()};

  dns::Message reply(BytesView query, const QueryContext& context = {}) {
    const auto wire = resolver.answer(query, context);
    const auto message = dns::parse_message(wire);
    EXPECT_TRUE(message) << to_hex(wire);
    return message.value_or(dns::Message{});
  }
  static Bytes with_opt(std::uint32_t ttl, BytesView options, std::uint16_t udp_size = 1232) {
    return WireBuilder(9, 0x0100, {1, 0, 0, 1}).question("example.com", dns::kTypeA).opt(udp_size, ttl, options).bytes();
  }
};

TEST_F(Rules, NoAnswerToShortMessagesAndToAnswers) {
  const auto query = query_for("example.com", "A");
  for (std::size_t size = 0; size < 12; ++size) {
    EXPECT_TRUE(resolver.answer(BytesView(query).first(size), {}).empty()) << size;
  }
  EXPECT_TRUE(resolver.answer(resolver.answer(query, {}), {}).empty());
  EXPECT_TRUE(resolver.answer(Bytes(12, 0xff), {}).empty());
}

TEST_F(Rules, AnyOtherNumberOfQuestionsIsFormerr) {
  for (const int count : {0, 2, 3, 65535}) {
    auto query = query_for("example.com", "A", {.edns = false});
    query[4] = static_cast<std::uint8_t>(count >> 8);
    query[5] = static_cast<std::uint8_t>(count);
    const auto message = reply(query);
    EXPECT_EQ(message.rcode, dns::kFormErr) << count;
    EXPECT_FALSE(message.question);
  }
  const auto two = WireBuilder(1, 0, {2}).question("example.com", 1).question("example.com", 28).bytes();
  EXPECT_EQ(reply(two).rcode, dns::kFormErr);
}

TEST_F(Rules, EveryPrefixOfAQueryIsFormerr) {
  const auto query = query_for("www.example.com", "A", {.pad_to_multiple = 128});
  for (std::size_t size = 12; size < query.size(); ++size) {
    const Bytes prefix(query.begin(), query.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(reply(prefix).rcode, dns::kFormErr) << size;
  }
}

TEST_F(Rules, TrailingOctetsAndBadNamesAreFormerr) {
  EXPECT_EQ(reply(WireBuilder(1, 0, {1}).question("example.com", 1).raw({0}).bytes()).rcode, dns::kFormErr);
  for (const auto label : Bytes{0x40, 0x80, 0xbf}) {
    EXPECT_EQ(reply(WireBuilder(1, 0, {1}).raw({label, 'a', 0}).u16(1).u16(1).bytes()).rcode, dns::kFormErr);
  }
  EXPECT_EQ(reply(WireBuilder(1, 0, {1}).pointer(12).u16(1).u16(1).bytes()).rcode, dns::kFormErr);
  EXPECT_EQ(reply(WireBuilder(1, 0, {1}).pointer(4).u16(1).u16(1).bytes()).rcode, dns::kFormErr);
}

TEST_F(Rules, OtherOpcodesAreNotimpWithABareHeader) {
  for (int opcode = 1; opcode < 16; ++opcode) {
    auto query = query_for("example.com", "A");
    query[2] = static_cast<std::uint8_t>(opcode << 3 | 1);
    const auto wire = resolver.answer(query, {});
    ASSERT_EQ(wire.size(), 12u) << opcode;
    EXPECT_EQ(dns::read_header(wire)->opcode(), opcode);
    EXPECT_EQ(dns::read_header(wire)->flags & 0x87ff, 0x8100 | dns::kNotImp);
    EXPECT_EQ(dns::message_id(wire), dns::message_id(query));
  }
}

TEST_F(Rules, HeaderBitsOfTheReply) {
  for (int flags = 0; flags < 0x800; ++flags) {
    auto query = query_for("example.com", "A");
    query[2] = static_cast<std::uint8_t>(flags >> 8 & 7);
    query[3] = static_cast<std::uint8_t>(flags);
    const auto header = *dns::read_header(resolver.answer(query, {}));
    EXPECT_EQ(header.flags, 0x8400 | (flags & 0x0110)) << "RD and CD are copied, Z and the rest are not: " << flags;
  }
}

TEST_F(Rules, ZoneTransfersAreRefusedOnEveryTransport) {
  for (const bool udp : {false, true}) {
    for (const bool encrypted : {false, true}) {
      const QueryContext context{.udp = udp, .encrypted = encrypted, .doq = encrypted && !udp};
      EXPECT_EQ(reply(query_for("example.com", "AXFR"), context).rcode, dns::kRefused);
      EXPECT_EQ(reply(query_for("example.com", "IXFR"), context).rcode, dns::kRefused);
    }
  }
  const auto ixfr_with_broken_soa = WireBuilder(1, 0, {1, 0, 1})
                                        .question("example.com", dns::kTypeIxfr)
                                        .pointer(12).record(dns::kTypeSoa, 0, {0xc0})
                                        .bytes();
  EXPECT_EQ(reply(ixfr_with_broken_soa).rcode, dns::kRefused);
}

TEST_F(Rules, OtherClassesAreRefused) {
  for (const std::uint16_t klass : std::initializer_list<std::uint16_t>{0, 3, 4, 254, 255, 65535}) {
    EXPECT_EQ(reply(WireBuilder(1, 0, {1}).question("example.com", 1, klass).bytes()).rcode, dns::kRefused) << klass;
  }
}

TEST_F(Rules, OptInTheAnswerOnlyIfInTheQuery) {
  EXPECT_FALSE(reply(query_for("example.com", "A", {.edns = false})).edns);
  const auto message = reply(query_for("example.com", "A"));
  EXPECT_TRUE(message.edns);
  EXPECT_EQ(message.edns_udp_payload_size, 1232);
  EXPECT_EQ(message.edns_version, 0);
  EXPECT_FALSE(message.dnssec_ok);
}

TEST_F(Rules, MalformedOptIsFormerrWithOpt) {
  const auto base = [](testing::Counts counts) { return WireBuilder(1, 0, counts).question("example.com", 1); };
  const std::pair<const char*, Bytes> cases[] = {
      {"two OPT records", base({1, 0, 0, 2}).opt(512).opt(512).bytes()},
      {"owner other than the root", base({1, 0, 0, 1}).pointer(12).record(dns::kTypeOpt, 0, {}).bytes()},
      {"OPT among the answers", base({1, 1, 0, 0}).opt(512).bytes()},
      {"OPT in the authority section", base({1, 0, 1, 0}).opt(512).bytes()},
      {"option longer than the record", with_opt(0, Bytes{0, 12, 0, 1})},
      {"half an option header", with_opt(0, Bytes{0, 12, 0})},
  };
  for (const auto& [what, query] : cases) {
    const auto message = reply(query);
    EXPECT_EQ(message.rcode, dns::kFormErr) << what;
    EXPECT_TRUE(message.edns) << what;
    EXPECT_TRUE(message.answer.empty()) << what;
  }
}

TEST_F(Rules, OtherEdnsVersionsAreBadvers) {
  for (const std::uint32_t version : {1u, 2u, 255u}) {
    for (const auto& options : {Bytes{}, Bytes{1, 2, 3}}) {  // their options need not look like ours
      const auto message = reply(with_opt(version << 16, options));
      EXPECT_EQ(message.rcode, dns::kBadVers);
      EXPECT_EQ(message.edns_version, 0);
      EXPECT_TRUE(message.answer.empty() && message.authority.empty());
    }
  }
}

TEST_F(Rules, ExtendedRcodeAndFlagsOfTheQueryAreNotEchoed) {
  const auto message = reply(with_opt(0xff00'ffff, {}));
  EXPECT_EQ(message.rcode, 0);
  EXPECT_TRUE(message.dnssec_ok);
  const auto wire = resolver.answer(with_opt(0xff00'ffff, {}), {});
  EXPECT_EQ(to_hex(BytesView(wire).last(6)), "000080000000") << "extended RCODE and version 0, DO alone, no options";
}

TEST_F(Rules, UnknownOptionsAreIgnored) {
  const auto message = reply(with_opt(0, join({option(100, Bytes{1, 2, 3}), option(65001, {}), option(3, {})})));
  EXPECT_EQ(message.rcode, 0);
  EXPECT_TRUE(message.edns_options.empty());
  EXPECT_EQ(message.answer.size(), 1u);
}

TEST_F(Rules, ThousandsOfOptionsDoNotSwellTheAnswer) {
  for (const auto code : Bytes{0, 3, 8, 11, 12, 100}) {
    Bytes options;
    for (int i = 0; i < 16'000; ++i) options.insert(options.end(), {0, code, 0, 0});
    const auto wire = resolver.answer(with_opt(0, options), {.encrypted = true});
    EXPECT_EQ(wire.size(), code == dns::kOptionPadding ? 468u : 12u + 17 + 16 + 11) << code;
  }
}

TEST_F(Rules, CookieLengths) {
  for (std::size_t length = 0; length <= 41; ++length) {
    const bool sound = length == 8 || (length >= 16 && length <= 40);
    EXPECT_EQ(reply(with_opt(0, option(dns::kOptionCookie, Bytes(length)))).rcode, sound ? dns::kNoError : dns::kFormErr)
        << length;
  }
}

TEST_F(Rules, KeepaliveOverDoqGetsNoAnswer) {
  const auto query = with_opt(0, option(dns::kOptionKeepalive, {}));
  EXPECT_TRUE(resolver.answer(query, {.encrypted = true, .doq = true}).empty());
  EXPECT_EQ(reply(query, {.encrypted = true}).rcode, 0);
}

TEST_F(Rules, EarlyDataAnswersOnlyQueries) {
  auto notify = query_for("example.com", "SOA");
  EXPECT_EQ(reply(notify, {.encrypted = true, .early_data = true}).rcode, 0);
  notify[2] = 4 << 3;
  const auto message = reply(notify, {.encrypted = true, .early_data = true});
  EXPECT_EQ(message.rcode, dns::kRefused);
  ASSERT_EQ(message.edns_options.size(), 1u);
  EXPECT_EQ(message.edns_options[0].code, dns::kOptionExtendedError);
  EXPECT_EQ(message.edns_options[0].data, (Bytes{0, 26}));
  notify.resize(20);
  EXPECT_EQ(resolver.answer(notify, {.early_data = true}).size(), 12u) << "a malformed one: bare header";
}

TEST_F(Rules, HostileMutationsOfQueries) {
  const auto seed = testing::test_seed();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  const Bytes bases[] = {query_for("www.example.com", "A", {.pad_to_multiple = 128}), query_for("big.example.com", "TXT"),
                         query_for("x.wild.example.com", "MX", {.edns = false}),
                         with_opt(0, join({option(10, Bytes(8)), option(12, {})}))};
  for (int round = 0; round < 20'000; ++round) {
    auto query = bases[random() % std::size(bases)];
    for (auto left = 1 + random() % 4; left > 0; --left) testing::mutate(query, random);
    query.shrink_to_fit();
    const QueryContext context{.udp = (round & 1) != 0, .encrypted = (round & 2) != 0};
    const auto wire = resolver.answer(query, context);
    if (wire.empty()) continue;
    ASSERT_TRUE(dns::parse_message(wire)) << "seed " << seed << ", query " << to_hex(query);
    ASSERT_EQ(dns::message_id(wire), dns::message_id(query));
    ASSERT_LE(wire.size(), context.udp ? 1232u : 65'535u);
  }
}

}  // namespace
}  // namespace doxlab::resolver
