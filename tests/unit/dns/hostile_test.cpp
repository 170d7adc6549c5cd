// What a peer might send to hurt: every function of dns must end soon and without a crash.
#include <gmock/gmock.h>

#include <ctime>

#include "dns/libknot.hpp"
#include "dns/message.hpp"
#include "dns/scan.hpp"
#include "unit/dns/wire_builder.hpp"

extern "C" {
#include <libknot/packet/pkt.h>
}

namespace doxlab::dns {
namespace {

using ::doxlab::testing::WireBuilder;

/// Everything that reads a message, on one that may be anything.
void read_all(BytesView wire) {
  const auto query = compose_query("www.example.com", kTypeA).value();
  is_answer_to(query, wire);
  is_answer_to(wire, query);
  has_edns_option(wire, kOptionPadding);
  min_answer_ttl(wire);
  if (const auto message = parse_message(wire)) {
    EXPECT_FALSE(to_text(*message).empty());
  }
}

Bytes rich_answer() {
  return WireBuilder(0x1234, 0x8180, {1, 5, 1, 2})
      .question("www.example.com", kTypeA)
      .pointer(12).record(kTypeCname, 300, {1, 'x', 0xc0, 16})
      .pointer(16).record(kTypeMx, 60, {0, 10, 4, 'm', 'a', 'i', 'l', 0xc0, 16})
      .pointer(16).record(kTypeTxt, 60, {3, 'a', 'b', 'c', 0})
      .pointer(16).record(35, 60, {0, 1, 0, 2, 1, 's', 0, 2, 'r', 'e', 0})        // NAPTR
      .pointer(16).record(65, 60, {0, 1, 0, 0, 1, 0, 3, 2, 'h', '3'})             // HTTPS
      .pointer(16).record(kTypeSoa, 60, {0xc0, 12, 0xc0, 16, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5})
      .pointer(12).record(48, 60, {1, 1, 3, 13, 1, 2, 3, 4, 5, 6, 7, 8})          // DNSKEY
      .opt(1232, 0x8000, testing::option(kOptionPadding, Bytes(16)))
      .bytes();
}

TEST(HostileMessages, EveryPrefixOfAnAnswerIsRefused) {
  const auto whole = rich_answer();
  ASSERT_TRUE(parse_message(whole)) << parse_message(whole).error().message;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // A buffer of its own, so that the address sanitizer sees any read past the end.
    const Bytes prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(parse_message(prefix)) << size;
    read_all(prefix);
  }
}

TEST(HostileMessages, LengthsInsideOfRdataStayInside) {
  // libknot's printer believes these: behind one that is too long it read until the process died.
  const std::pair<std::uint16_t, Bytes> unsound[] = {
      {50, {1, 0, 0, 7, 101, 'x', 'y', 3}},                       // NSEC3: salt
      {50, {1, 0, 0, 7, 1, 's', 20, 'h'}},                        // NSEC3: next hashed owner
      {51, {1, 0, 0, 7, 9, 's'}},                                 // NSEC3PARAM: salt
      {250, {1, 'a', 0, 0, 0, 0, 0, 0, 1, 0, 5, 0, 99, 'm'}},     // TSIG: MAC
      {250, {1, 'a', 0, 0, 0, 0, 0, 0, 1, 0, 5, 0, 1, 'm', 0, 1, 0, 0, 0, 8, 'o'}},  // TSIG: other data
  };
  for (const auto& [type, rdata] : unsound) {
    const auto wire = WireBuilder(1, 0x8000, {0, 1, 0, 0}).name("a.").record(type, 60, rdata).bytes();
    const auto message = parse_message(wire);
    ASSERT_TRUE(message) << type << " " << message.error().message;
    EXPECT_TRUE(message->answer[0].rdata.starts_with("\\# ")) << message->answer[0].rdata;
  }
  const auto sound = WireBuilder(1, 0x8000, {0, 2, 0, 0})
                         .name("a.").record(50, 60, {1, 0, 0, 7, 1, 0xab, 5, 1, 2, 3, 4, 5, 0, 1, 0x40})
                         .name("a.").record(51, 60, {1, 0, 0, 7, 0})
                         .bytes();
  const auto message = parse_message(sound);
  ASSERT_TRUE(message);
  EXPECT_THAT(message->answer[0].rdata, ::testing::AllOf(::testing::StartsWith("1 0 7 AB "), ::testing::EndsWith(" A")));
  EXPECT_EQ(message->answer[1].rdata, "1 0 7 -");
}

TEST(HostileMessages, SixteenThousandEmptyOptions) {
  Bytes options;
  for (int i = 0; i < 16'000; ++i) options.insert(options.end(), {0, static_cast<std::uint8_t>(i % 20), 0, 0});
  const auto wire = WireBuilder(1, 0x8000, {0, 0, 0, 1}).opt(1232, 0, options).bytes();
  const auto message = parse_message(wire);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->edns_options.size(), 16'000u - 800);
  read_all(wire);
}

/// 64 KiB of records whose owners, and names in rdata, are the same chain of pointers or labels.
Bytes many_names(BytesView chain, std::size_t name_at, std::uint16_t type, bool in_rdata) {
  WireBuilder out(1, 0x8000, {0, 1, 0, 0});
  out.raw({0}).record(65400, 1, chain);
  const Bytes pointer = {static_cast<std::uint8_t>(0xc0 | name_at >> 8), static_cast<std::uint8_t>(name_at)};
  std::size_t records = 1;
  while (out.size() + 16 <= 65'535) {
    if (in_rdata) {
      out.raw({0}).record(type, 1, pointer);
    } else {
      out.raw(pointer).record(type, 1, {});
    }
    ++records;
  }
  auto wire = out.bytes();
  wire[6] = static_cast<std::uint8_t>(records >> 8);
  wire[7] = static_cast<std::uint8_t>(records);
  return wire;
}

TEST(HostileMessages, WorkIsBoundedForChainsOfPointersAndLongNames) {
  constexpr std::size_t kChainAt = 12 + 11;
  Bytes pointers = {0};
  for (std::size_t at = kChainAt; pointers.size() < 16'000; at += pointers.size() == 3 ? 1 : 2) {
    pointers.push_back(static_cast<std::uint8_t>(0xc0 | at >> 8));
    pointers.push_back(static_cast<std::uint8_t>(at));
  }
  Bytes labels;
  for (int i = 0; i < 127; ++i) labels.insert(labels.end(), {1, 0});
  labels.push_back(0);
  const auto start = std::clock();  // the processor's time, so that other work on the machine does not count
  for (const bool in_rdata : {false, true}) {
    const auto deep = many_names(pointers, kChainAt + pointers.size() - 2, kTypeNs, in_rdata);
    EXPECT_FALSE(parse_message(deep));
    read_all(deep);
    const auto wide = many_names(labels, kChainAt, kTypeNs, in_rdata);
    EXPECT_THAT(parse_message(wide).error_or(Error{}).message, ::testing::HasSubstr("expand to more than 1 MiB"));
    read_all(wide);
  }
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 20);
}

/// libknot's own view of a message, by its packet parser.
struct KnotPacket {
  explicit KnotPacket(Bytes& wire) : packet(knot_pkt_new(wire.data(), static_cast<std::uint16_t>(wire.size()), nullptr)) {
    result = knot_pkt_parse(packet, KNOT_PF_NOCANON | KNOT_PF_KEEPWIRE);
  }
  ~KnotPacket() { knot_pkt_free(packet); }
  KnotPacket(const KnotPacket&) = delete;
  KnotPacket& operator=(const KnotPacket&) = delete;
  knot_pkt_t* packet;
  int result = 0;
};

void expect_same(const std::vector<Record>& ours, const knot_pkt_t* packet, knot_section_t which) {
  const auto* section = knot_pkt_section(packet, which);
  std::size_t next = 0;
  for (std::uint16_t i = 0; i < section->count; ++i) {
    const auto* record = knot_pkt_rr(section, i);
    if (record->type == KNOT_RRTYPE_OPT) continue;
    ASSERT_LT(next, ours.size());
    char owner[KNOT_DNAME_TXT_MAXLEN + 1];
    knot_dname_to_str(owner, record->owner, sizeof owner);
    EXPECT_EQ(ours[next].name, owner);
    EXPECT_EQ(ours[next].type, record->type);
    EXPECT_EQ(ours[next].klass, record->rclass);
    EXPECT_EQ(ours[next].ttl, record->ttl);
    ++next;
  }
  EXPECT_EQ(next, ours.size());
}

TEST(HostileMessages, LibknotReadsTheSameRecords) {
  auto wire = rich_answer();
  const auto ours = parse_message(wire).value();
  const KnotPacket theirs(wire);
  ASSERT_EQ(theirs.result, KNOT_EOK);
  EXPECT_EQ(knot_pkt_ext_rcode(theirs.packet), ours.rcode);
  expect_same(ours.answer, theirs.packet, KNOT_ANSWER);
  expect_same(ours.authority, theirs.packet, KNOT_AUTHORITY);
  expect_same(ours.additional, theirs.packet, KNOT_ADDITIONAL);
}

TEST(HostileMessages, RandomMutationsNeitherCrashNorDisagreeWithLibknot) {
  const auto seed = testing::test_seed();
  SCOPED_TRACE("DOXLAB_SEED=" + std::to_string(seed));
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  int accepted = 0;
  for (int round = 0; round < 4'000; ++round) {
    auto wire = rich_answer();
    for (auto left = 1 + random() % 4; left > 0; --left) testing::mutate(wire, random);
    wire.shrink_to_fit();
    read_all(wire);
    const auto ours = parse_message(wire);
    if (!ours) continue;
    ++accepted;
    const KnotPacket theirs(wire);
    // libknot asks more of TSIG and OPT records and of messages without a question; else both must agree.
    if (theirs.result != KNOT_EOK) continue;
    expect_same(ours->answer, theirs.packet, KNOT_ANSWER);
    expect_same(ours->authority, theirs.packet, KNOT_AUTHORITY);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "round " << round << ": " << to_hex(wire);
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace doxlab::dns
