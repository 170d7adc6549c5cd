// Truncation, padding, compression: what decides an answer's size.
#include <gmock/gmock.h>

#include <chrono>
#include <format>

#include "unit/dns/wire_builder.hpp"
#include "unit/resolver/ask.hpp"

namespace doxlab::resolver {
namespace {

using ::doxlab::testing::option;
using ::doxlab::testing::WireBuilder;

/// One TXT set of exactly `octets` of rdata under t.test.
std::shared_ptr<const Zone> zone_with_txt(std::size_t octets) {
  std::string text = "$ORIGIN t.test.\n@ SOA ns host 1 2 3 4 5\n@ TYPE16 \\# " + std::to_string(octets) + " ";
  for (std::size_t left = octets; left > 0;) {
    const auto string = std::min<std::size_t>(left - 1, 255);
    text += std::format("{:02x}{}", string, std::string(2 * string, '6'));
    left -= string + 1;
  }
  return zone_of(text + "\n");
}

TEST(UdpLimit, NoAnswerEverExceedsItAndTcIsSetOnlyIfNeeded) {
  const Resolver resolver(Zone::built_in());
  for (const auto* name : {"example.com", "big.example.com", "huge.example.com"}) {
    const auto whole = resolver.answer(query_for(name, "TXT"), {}).size();
    for (std::size_t size = 0; size <= 4'200; ++size) {
      for (const std::size_t cap : {512u, 1232u, 4096u, 65'535u}) {
        const auto query = query_for(name, "TXT", {.udp_payload_size = static_cast<std::uint16_t>(size)});
        const auto wire = resolver.answer(query, {.udp = true, .max_udp_bytes = cap});
        const auto limit = std::max<std::size_t>(512, std::min(size, cap));
        ASSERT_LE(wire.size(), limit) << name << " with " << size;
        ASSERT_EQ(dns::is_truncated(wire), whole > limit) << name << " with " << size;
      }
    }
  }
}

TEST(UdpLimit, WithoutEdnsItIs512) {
  for (std::size_t octets = 440; octets <= 480; ++octets) {
    const Resolver resolver(zone_with_txt(octets));
    const auto query = query_for("t.test", "TXT", {.edns = false});
    const auto wire = resolver.answer(query, {.udp = true});
    const auto whole = 12 + 8 + 4 + 12 + octets;
    EXPECT_EQ(dns::is_truncated(wire), whole > 512) << octets;
    EXPECT_EQ(wire.size(), whole > 512 ? query.size() : whole);
  }
}

TEST(UdpLimit, TruncatedAnswersKeepQuestionAndOptAlone) {
  const Resolver resolver(Zone::built_in());
  const auto message = ask(resolver, query_for("big.example.com", "TXT", {.dnssec_ok = true}), {.udp = true});
  EXPECT_TRUE(message.truncated && message.edns && message.dnssec_ok && message.question);
  EXPECT_EQ(message.rcode, 0);
  EXPECT_TRUE(message.answer.empty() && message.authority.empty() && message.additional.empty());
}

TEST(StreamLimit, AnswersUpTo65535OctetsAreWholeLargerOnesServfail) {
  constexpr std::size_t kAround = 12 + 8 + 4 + 12 + 11;  // header, question, record's fields, OPT
  constexpr std::size_t kLargest = 65'535 - kAround;
  for (const std::size_t octets : {kLargest - 1, kLargest, kLargest + 1}) {
    const Resolver resolver(zone_with_txt(octets));
    const auto query = query_for("t.test", "TXT");
    const auto wire = resolver.answer(query, {});
    const bool fits = octets <= kLargest;
    EXPECT_EQ(wire.size(), fits ? kAround + octets : query.size());
    const auto message = ask(resolver, query);
    EXPECT_EQ(message.rcode, fits ? dns::kNoError : dns::kServFail);
    EXPECT_FALSE(message.truncated);
  }
}

TEST(Padding, OnlyIfEncryptedAndAskedFor) {
  const Resolver resolver(Zone::built_in());
  const auto plain = query_for("example.com", "A"), padded = query_for("example.com", "A", {.pad_to_multiple = 128});
  EXPECT_FALSE(ask(resolver, plain, {.encrypted = true}).has_padding);
  EXPECT_FALSE(ask(resolver, padded, {}).has_padding);
  EXPECT_FALSE(ask(resolver, padded, {.udp = true}).has_padding);
  EXPECT_TRUE(ask(resolver, padded, {.encrypted = true}).has_padding);
  EXPECT_EQ(resolver.answer(padded, {.encrypted = true}).size(), 468u);
}

TEST(Padding, IsExactForEverySize) {
  const auto query = query_for("t.test", "TXT", {.pad_to_multiple = 128});
  constexpr std::size_t kAround = 12 + 8 + 4 + 12 + 11;
  const auto check = [&](std::size_t octets) {
    const Resolver resolver(zone_with_txt(octets));
    const auto wire = resolver.answer(query, {.encrypted = true});
    const auto unpadded = kAround + octets;
    std::size_t expected = (unpadded + 4 + 467) / 468 * 468;
    if (expected > 65'535) expected = unpadded + 4 <= 65'535 ? 65'535 : unpadded;
    ASSERT_EQ(wire.size(), expected) << octets;
    const auto message = dns::parse_message(wire);
    ASSERT_TRUE(message) << message.error().message;
    ASSERT_EQ(message->padding_bytes, message->has_padding ? expected - unpadded - 4 : 0);
  };
  for (std::size_t octets = 1; octets <= 1'000; ++octets) check(octets);
  for (std::size_t octets = 65'535 - kAround - 80; octets <= 65'535 - kAround; ++octets) check(octets);
}

TEST(Padding, IsZeros) {
  const Resolver resolver(Zone::built_in());
  const auto wire = resolver.answer(query_for("example.com", "A", {.pad_to_multiple = 128}), {.encrypted = true});
  const auto message = dns::parse_message(wire).value();
  EXPECT_THAT(Bytes(wire.end() - static_cast<std::ptrdiff_t>(message.padding_bytes), wire.end()),
              ::testing::Each(0));
}

TEST(Padding, StaysWithinTheUdpLimit) {
  const Resolver resolver(Zone::built_in());
  for (std::uint16_t size = 512; size <= 1232; ++size) {
    const auto query = query_for("example.com", "SOA", {.udp_payload_size = size, .pad_to_multiple = 128});
    EXPECT_LE(resolver.answer(query, {.udp = true, .encrypted = true}).size(), size);
  }
}

TEST(Compression, ManyNamesAreWrittenInLinearTimeAndReadBackTheSame) {
  std::string text = "$ORIGIN many.test.\n@ SOA ns host 1 2 3 4 5\n";
  std::vector<std::string> names;
  for (int i = 0; i < 2'500; ++i) {
    // Names that share the root, a parent, or nothing but the last label.
    names.push_back(i % 3 == 0   ? std::format("n{}.t{}.", i, i)
                    : i % 3 == 1 ? std::format("n{}.many.test.", i)
                                 : std::format("a.b.c{}.test.", i % 50 * 50 + i));
    text += std::format("@ NS {}\n", names.back());
  }
  const Resolver resolver(zone_of(text));
  const auto query = query_for("many.test", "NS");
  const auto start = std::chrono::steady_clock::now();
  const auto wire = resolver.answer(query, {});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
  const auto message = dns::parse_message(wire);
  ASSERT_TRUE(message) << message.error().message;
  ASSERT_EQ(message->answer.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) ASSERT_EQ(message->answer[i].rdata, names[i]);
}

TEST(Compression, NamesOfNewerTypesAreNotCompressed) {
  const Resolver resolver(zone_of("$ORIGIN c.test.\n@ SOA ns host 1 2 3 4 5\n@ SRV 1 2 3 c.test.\n@ MX 1 c.test.\n"));
  const auto srv = resolver.answer(query_for("c.test", "SRV", {.edns = false}), {});
  EXPECT_EQ(srv.size(), 12u + 8 + 4 + 12 + 6 + 8);
  const auto mx = resolver.answer(query_for("c.test", "MX", {.edns = false}), {});
  EXPECT_EQ(mx.size(), 12u + 8 + 4 + 12 + 2 + 2);
}

TEST(Speed, AnAnswerTakesMicroseconds) {
  const Resolver resolver(Zone::built_in());
  const auto query = query_for("www.example.com", "A", {.pad_to_multiple = 128});
  constexpr int kRounds = 2'000;
  const auto start = std::chrono::steady_clock::now();
  std::size_t octets = 0;
  for (int i = 0; i < kRounds; ++i) octets += resolver.answer(query, {.encrypted = true}).size();
  const auto each = (std::chrono::steady_clock::now() - start) / kRounds;
  EXPECT_EQ(octets, 468u * kRounds);
  EXPECT_LT(each, std::chrono::microseconds(200)) << "it is about 1 us in a release build";
}

}  // namespace
}  // namespace doxlab::resolver
