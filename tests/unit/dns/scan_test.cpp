#include "dns/scan.hpp"

#include <gtest/gtest.h>

#include "dns/message.hpp"
#include "unit/dns/wire_builder.hpp"

namespace doxlab::dns {
namespace {

using ::doxlab::testing::join;
using ::doxlab::testing::option;
using ::doxlab::testing::WireBuilder;

Bytes soa(std::uint8_t minimum) {
  return join({{0, 0}, Bytes{0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, minimum}});
}

TEST(HasEdnsOption, FindsOptionsAnywhereInTheList) {
  const auto wire = WireBuilder(1, 0, {1, 0, 0, 1})
                        .question("a", kTypeA)
                        .opt(512, 0, join({option(100, {}), option(kOptionKeepalive, {}), option(kOptionPadding, Bytes(9))}))
                        .bytes();
  EXPECT_TRUE(has_edns_option(wire, kOptionKeepalive));
  EXPECT_TRUE(has_edns_option(wire, kOptionPadding));
  EXPECT_TRUE(has_edns_option(wire, 100));
  EXPECT_FALSE(has_edns_option(wire, kOptionCookie));
}

TEST(HasEdnsOption, MalformedMessagesHaveNone) {
  const auto whole = WireBuilder(1, 0, {1, 0, 0, 1}).question("a", kTypeA).opt(512, 0, option(11, {})).bytes();
  ASSERT_TRUE(has_edns_option(whole, 11));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(has_edns_option(BytesView(whole).first(size), 11)) << size;
  }
  EXPECT_FALSE(has_edns_option(WireBuilder(1, 0, {1}).question("a", kTypeA).bytes(), 11));
  EXPECT_FALSE(has_edns_option(
      WireBuilder(1, 0, {0, 0, 0, 1}).opt(512, 0, join({option(11, {}), Bytes{0, 9, 0, 1}})).bytes(), 11));
}

TEST(MinAnswerTtl, SmallestOfTheAnswerSectionWithoutOpt) {
  const auto wire = WireBuilder(1, 0x8180, {1, 2, 0, 2})
                        .question("a", kTypeA)
                        .pointer(12).record(kTypeA, 300, {192, 0, 2, 1})
                        .pointer(12).record(kTypeA, 60, {192, 0, 2, 2})
                        .pointer(12).record(kTypeA, 5, {192, 0, 2, 3})
                        .opt(1232)
                        .bytes();
  EXPECT_EQ(min_answer_ttl(wire), 60u);
}

TEST(MinAnswerTtl, DenialsTakeSoaTtlAndMinimum) {
  const auto denial = [](std::uint16_t flags, std::uint32_t ttl, std::uint8_t minimum) {
    return WireBuilder(1, flags, {1, 0, 1}).question("a", kTypeA).pointer(12).record(kTypeSoa, ttl, soa(minimum)).bytes();
  };
  EXPECT_EQ(min_answer_ttl(denial(0x8183, 300, 30)), 30u);
  EXPECT_EQ(min_answer_ttl(denial(0x8183, 20, 30)), 20u);
  EXPECT_EQ(min_answer_ttl(denial(0x8180, 20, 30)), 20u);
  const auto alias_to_nothing = WireBuilder(1, 0x8183, {1, 1, 1})
                                    .question("a", kTypeA)
                                    .pointer(12).record(kTypeCname, 10, {1, 'b', 0})
                                    .raw({0}).record(kTypeSoa, 300, soa(60))
                                    .bytes();
  EXPECT_EQ(min_answer_ttl(alias_to_nothing), 10u);
}

TEST(MinAnswerTtl, TopBitCountsAsZero) {
  const auto wire =
      WireBuilder(1, 0x8180, {1, 1}).question("a", kTypeA).pointer(12).record(kTypeA, 0x80000000, {1, 2, 3, 4}).bytes();
  EXPECT_EQ(min_answer_ttl(wire), 0u);
}

TEST(MinAnswerTtl, NothingToKeep) {
  EXPECT_EQ(min_answer_ttl({}), std::nullopt);
  EXPECT_EQ(min_answer_ttl(WireBuilder(1, 0x8182, {1}).question("a", 1).bytes()), std::nullopt) << "SERVFAIL";
  EXPECT_EQ(min_answer_ttl(WireBuilder(1, 0x8180, {1}).question("a", 1).bytes()), std::nullopt) << "no SOA";
  EXPECT_EQ(min_answer_ttl(WireBuilder(1, 0x0100, {1}).question("a", 1).bytes()), std::nullopt) << "a query";
  EXPECT_EQ(min_answer_ttl(WireBuilder(1, 0x8183, {1, 0, 1}).question("a", 1).pointer(12).record(6, 9, {0, 0}).bytes()),
            std::nullopt)
      << "short SOA";
  const auto cut = WireBuilder(1, 0x8180, {1, 2}).question("a", 1).pointer(12).record(1, 9, {1, 2, 3, 4}).bytes();
  EXPECT_EQ(min_answer_ttl(cut), std::nullopt) << "a record is missing";
}

TEST(RecordScanner, YieldsRecordsWithSectionsAndOffsets) {
  const auto wire = WireBuilder(1, 0, {1, 1, 0, 1})
                        .question("a", kTypeA)
                        .pointer(12).record(kTypeA, 9, {1, 2, 3, 4})
                        .opt(512)
                        .bytes();
  RecordScanner scanner(wire);
  const auto first = scanner.next(), second = scanner.next();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->section, Section::Answer);
  EXPECT_EQ(first->offset, 19u);
  EXPECT_EQ(first->rdata_offset, 31u);
  EXPECT_EQ(first->end(), second->offset);
  EXPECT_EQ(second->section, Section::Additional);
  EXPECT_TRUE(second->owner_is_root);
  EXPECT_FALSE(scanner.next());
  EXPECT_EQ(scanner.problem(), "");
}

}  // namespace
}  // namespace doxlab::dns
