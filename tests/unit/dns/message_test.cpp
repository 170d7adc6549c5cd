#include "dns/message.hpp"

#include <gmock/gmock.h>

#include "dns/scan.hpp"
#include "unit/dns/wire_builder.hpp"

namespace doxlab::dns {
namespace {

using ::doxlab::testing::join;
using ::doxlab::testing::option;
using ::doxlab::testing::WireBuilder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t kNameAt = 12;

std::string problem(BytesView wire) {
  const auto message = parse_message(wire);
  return message ? "accepted" : message.error().message;
}

TEST(ParseMessage, ReadsEverySection) {
  const auto wire = WireBuilder(0x1234, 0x85b0, {1, 2, 1, 2})
                        .question("www.example.com", kTypeA)
                        .pointer(kNameAt).record(kTypeCname, 300, {0xc0, 16})
                        .pointer(16).record(kTypeA, 60, {192, 0, 2, 1})
                        .pointer(16).record(kTypeNs, 3600, {2, 'n', 's', 0xc0, 16})
                        .name("ns.example.com").record(kTypeA, 7, {192, 0, 2, 53})
                        .opt(1232, 0x8000, option(kOptionPadding, Bytes(5)))
                        .bytes();
  const auto message = parse_message(wire);
  ASSERT_TRUE(message) << message.error().message;
  EXPECT_EQ(message->id, 0x1234);
  EXPECT_TRUE(message->is_response && message->authoritative && message->recursion_desired &&
              message->recursion_available && message->authentic_data && message->checking_disabled);
  EXPECT_FALSE(message->truncated);
  EXPECT_EQ(message->question->name, "www.example.com.");
  ASSERT_THAT(message->answer, SizeIs(2));
  EXPECT_EQ(message->answer[0].rdata, "example.com.");
  EXPECT_EQ(message->answer[1].name, "example.com.");
  EXPECT_EQ(message->answer[1].rdata, "192.0.2.1");
  EXPECT_EQ(message->answer[1].ttl, 60u);
  ASSERT_THAT(message->authority, SizeIs(1));
  EXPECT_EQ(message->authority[0].rdata, "ns.example.com.");
  ASSERT_THAT(message->additional, SizeIs(1));
  EXPECT_EQ(message->additional[0].ttl, 7u);
  EXPECT_TRUE(message->edns && message->dnssec_ok && message->has_padding);
  EXPECT_EQ(message->edns_udp_payload_size, 1232);
  EXPECT_EQ(message->padding_bytes, 5u);
}

TEST(ParseMessage, RcodeHasTheExtendedBits) {
  const auto wire = WireBuilder(1, 0x8000, {0, 0, 0, 1}).opt(512, 0x01000000).bytes();
  EXPECT_EQ(parse_message(wire).value().rcode, kBadVers);
}

TEST(ParseMessage, RdataOfManyTypesPrints) {
  const std::tuple<std::uint16_t, Bytes, const char*> cases[] = {
      {kTypeAaaa, {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, "2001:db8::1"},
      {kTypeMx, {0, 10, 0xc0, kNameAt}, "10 a."},
      {kTypeTxt, {3, 'x', ' ', 200, 0}, R"("x \200" "")"},
      {kTypeTxt, {9, 'x'}, R"(\# 2 0978)"},  // the string is longer than its rdata
      {65400, {1, 2, 255}, R"(\# 3 0102FF)"},
      {65400, {}, R"(\# 0)"},
      {65, {0, 1, 0, 0, 1, 0, 3, 2, 'h', '3'}, R"(1 . alpn="h3")"},
      {kTypeSoa, join({{0}, {0xc0, kNameAt}, Bytes{0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5}}),
       ". a. 1 2 3 4 5"},
  };
  for (const auto& [type, rdata, text] : cases) {
    const auto wire = WireBuilder(1, 0x8000, {1, 1}).question("a", type).pointer(kNameAt).record(type, 1, rdata).bytes();
    const auto message = parse_message(wire);
    ASSERT_TRUE(message) << text << ": " << message.error().message;
    EXPECT_EQ(message->answer.at(0).rdata, text);
  }
}

TEST(ParseMessage, LargestRdataPrints) {
  const auto wire = WireBuilder(1, 0x8000, {0, 1}).raw({0}).record(65400, 1, Bytes(65'535 - 23, 0xff)).bytes();
  ASSERT_EQ(wire.size(), 65'535u);
  const auto message = parse_message(wire);
  ASSERT_TRUE(message) << message.error().message;
  EXPECT_GT(message->answer.at(0).rdata.size(), 2u * 65'512);
}

TEST(ParseMessage, ErrorsSayWhatAndWhere) {
  EXPECT_EQ(problem({}), "malformed message: 0 octets, a header takes 12");
  EXPECT_EQ(problem(WireBuilder(1, 0, {2}).question("a", 1).question("b", 1).bytes()),
            "malformed message: 2 questions instead of at most one at offset 4");
  EXPECT_EQ(problem(WireBuilder(1, 0, {1}).raw({1, 'a', 0, 0, 1, 0}).bytes()),
            "malformed message: question runs past the end at offset 12");
  EXPECT_EQ(problem(WireBuilder(1, 0, {1}).question("a", 1).raw({0}).bytes()),
            "malformed message: octets behind the last record at offset 19");
  EXPECT_EQ(problem(WireBuilder(1, 0, {0, 65535}).bytes()),
            "malformed message: fewer records than the header counts at offset 12");
  EXPECT_EQ(problem(WireBuilder(1, 0, {0, 1}).raw({0xc0, 12}).record(1, 1, {1, 2, 3, 4}).bytes()),
            "malformed message: malformed owner name at offset 12");
  EXPECT_EQ(problem(WireBuilder(1, 0, {0, 1}).raw({0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4}).bytes()),
            "malformed message: rdata runs past the end at offset 12");
  EXPECT_EQ(problem(WireBuilder(1, 0, {0, 1}).raw({0}).record(kTypeA, 1, {1, 2, 3}).bytes()),
            "malformed message: rdata does not fit its type of a record at offset 12");
  EXPECT_EQ(problem(WireBuilder(1, 0, {0, 1}).raw({0}).record(kTypeNs, 1, {0xc0, 23}).bytes()),
            "malformed message: malformed name in the rdata of a record at offset 12");
  EXPECT_THAT(problem(Bytes(70'000)), HasSubstr("70000 octets, at most 65535"));
}

TEST(ParseMessage, OptRules) {
  const auto opt_in = [](testing::Counts counts) { return WireBuilder(1, 0, counts).opt(512).bytes(); };
  EXPECT_THAT(problem(opt_in({0, 1, 0, 0})), HasSubstr("OPT record outside the additional section"));
  EXPECT_THAT(problem(opt_in({0, 0, 1, 0})), HasSubstr("OPT record outside the additional section"));
  EXPECT_THAT(problem(WireBuilder(1, 0, {0, 0, 0, 2}).opt(512).opt(512).bytes()), HasSubstr("second OPT record"));
  EXPECT_THAT(problem(WireBuilder(1, 0, {0, 0, 0, 1}).name("a").record(kTypeOpt, 0, {}).bytes()),
              HasSubstr("OPT record with an owner name"));
  EXPECT_THAT(problem(WireBuilder(1, 0, {0, 0, 0, 1}).opt(512, 0, Bytes{0, 12, 0, 1}).bytes()),
              HasSubstr("EDNS option runs past the end"));
}

TEST(IsAnswerTo, MatchesQuestionInAnyCase) {
  const auto query = compose_query("www.example.com", kTypeA, {.id = 77}).value();
  const auto answer = [](std::uint16_t id, std::uint16_t flags, std::string_view name, std::uint16_t type,
                         std::uint16_t klass = 1) {
    return WireBuilder(id, flags, {1}).question(name, type, klass).bytes();
  };
  EXPECT_TRUE(is_answer_to(query, answer(77, 0x8180, "WWW.example.COM", kTypeA)));
  EXPECT_TRUE(is_answer_to(query, answer(77, 0x8183, "www.example.com", kTypeA)));
  EXPECT_FALSE(is_answer_to(query, answer(78, 0x8180, "www.example.com", kTypeA))) << "ID";
  EXPECT_FALSE(is_answer_to(query, answer(77, 0x0180, "www.example.com", kTypeA))) << "QR";
  EXPECT_FALSE(is_answer_to(query, answer(77, 0xa180, "www.example.com", kTypeA))) << "opcode";
  EXPECT_FALSE(is_answer_to(query, answer(77, 0x8180, "www.example.co", kTypeA))) << "name";
  EXPECT_FALSE(is_answer_to(query, answer(77, 0x8180, "www.example.com", kTypeAaaa))) << "type";
  EXPECT_FALSE(is_answer_to(query, answer(77, 0x8180, "www.example.com", kTypeA, 3))) << "class";
  EXPECT_FALSE(is_answer_to(query, query)) << "the query itself";
  EXPECT_FALSE(is_answer_to(query, {}));
}

TEST(IsAnswerTo, BareHeaderOnlyForFailures) {
  const auto query = compose_query("a", kTypeA, {.id = 77}).value();
  for (const int rcode : {1, 2, 4, 5}) {
    EXPECT_TRUE(is_answer_to(query, WireBuilder(77, static_cast<std::uint16_t>(0x8180 | rcode), {}).bytes())) << rcode;
  }
  for (const int rcode : {0, 3}) {
    EXPECT_FALSE(is_answer_to(query, WireBuilder(77, static_cast<std::uint16_t>(0x8180 | rcode), {}).bytes())) << rcode;
  }
  EXPECT_FALSE(is_answer_to(query, WireBuilder(76, 0x8181, {}).bytes())) << "ID";
  EXPECT_FALSE(is_answer_to(query, WireBuilder(77, 0x8181, {}).raw({0}).bytes())) << "not bare";
}

TEST(IsAnswerTo, NoPrefixOfAnAnswerCrashes) {
  const auto query = compose_query("www.example.com", kTypeA, {.id = 77}).value();
  auto answer = query;
  answer[2] |= 0x80;
  for (std::size_t size = 0; size < answer.size(); ++size) {
    const bool has_question = size >= 12 + 17 + 4;
    EXPECT_EQ(is_answer_to(query, BytesView(answer).first(size)), has_question) << size;
    EXPECT_EQ(is_answer_to(BytesView(query).first(size), answer), has_question) << size;
  }
}

TEST(MessageHeader, IdAndTruncation) {
  auto message = WireBuilder(0xfffe, 0x8200, {}).bytes();
  EXPECT_EQ(message_id(message), 0xfffe);
  EXPECT_TRUE(is_truncated(message));
  set_message_id(message, 0x0102);
  EXPECT_EQ(message_id(message), 0x0102);
  EXPECT_FALSE(is_truncated(WireBuilder(1, 0x8180, {}).bytes()));
}

TEST(ToText, LooksLikeDig) {
  const auto wire = WireBuilder(7, 0x8583, {1, 1, 0, 1})
                        .question("a.example", kTypeTxt)
                        .pointer(kNameAt).record(kTypeTxt, 300, {2, 'h', 'i'})
                        .opt(1232, 0x8000, join({option(kOptionExtendedError, Bytes{0, 26}), option(100, Bytes{1}),
                                                 option(kOptionPadding, Bytes(3))}))
                        .bytes();
  EXPECT_EQ(to_text(parse_message(wire).value()),
            ";; opcode: QUERY, status: NXDOMAIN, id: 7\n"
            ";; flags: qr aa rd ra; QUERY: 1, ANSWER: 1, AUTHORITY: 0, ADDITIONAL: 1\n"
            ";; EDNS: version 0, do, udp 1232, extended error 26, option 100 01, padding 3\n"
            "\n;; QUESTION SECTION:\n;a.example.\t\tIN\tTXT\n"
            "\n;; ANSWER SECTION:\na.example.\t300\tIN\tTXT\t\"hi\"\n");
}

TEST(ToText, OfAnEmptyMessage) {
  EXPECT_EQ(to_text(parse_message(WireBuilder(0, 0x7800, {}).bytes()).value()),
            ";; opcode: OPCODE15, status: NOERROR, id: 0\n"
            ";; flags:; QUERY: 0, ANSWER: 0, AUTHORITY: 0, ADDITIONAL: 0\n");
}

}  // namespace
}  // namespace doxlab::dns
