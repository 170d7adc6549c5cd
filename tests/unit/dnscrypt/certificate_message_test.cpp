#include "dnscrypt/certificate_message.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "dns/message.hpp"
#include "dns/name.hpp"
#include "dns/scan.hpp"
#include "dnscrypt/certificate.hpp"

namespace doxlab::dnscrypt {
namespace {

using testing::HasSubstr;

constexpr std::string_view kProvider = "2.dnscrypt-cert.example.com";
const Bytes kProviderWire = dns::name_to_wire(kProvider).value();

Bytes query(bool edns = false, std::string_view name = kProvider, std::uint16_t type = dns::kTypeTxt) {
  return dns::compose_query(name, type, {.id = 0xabcd, .edns = edns}).value();
}

// draft-denis-dprive-dnscrypt-11 §14.4, but for the TTL's meaning.
TEST(CertificateMessage, VectorOfTheDraft) {
  const auto ask = compose_certificate_query(kProvider, 0xabcd).value();
  EXPECT_EQ(to_hex(ask),
            "abcd0100000100000000000001320d646e7363727970742d63657274076578616d706c6503636f6d0000100001");
  EXPECT_TRUE(is_certificate_query(ask, kProviderWire));
  const std::vector<Bytes> certificates = {Bytes(kCertificateOctets, 0x44)};
  const auto answer = compose_certificate_answer(ask, certificates, {.ttl = 86'400});
  ASSERT_EQ(answer.size(), 182u);
  EXPECT_EQ(to_hex(BytesView(answer).first(59)),
            "abcd8180000100010000000001320d646e7363727970742d63657274076578616d706c6503636f6d0000100001"
            "c00c0010000100015180007d7c44");
  EXPECT_EQ(certificates_of(answer, kProviderWire).value(), certificates);
}

TEST(CertificateMessage, OnlyTxtQueriesForTheProviderCount) {
  EXPECT_TRUE(is_certificate_query(query(true), kProviderWire));
  EXPECT_TRUE(is_certificate_query(query(false, "2.DNSCrypt-CERT.Example.COM."), kProviderWire));
  EXPECT_FALSE(is_certificate_query(query(false, "example.com"), kProviderWire));
  EXPECT_FALSE(is_certificate_query(query(false, "2.dnscrypt-cert.example.com.org"), kProviderWire));
  EXPECT_FALSE(is_certificate_query(query(false, kProvider, dns::kTypeA), kProviderWire));
  EXPECT_FALSE(is_certificate_query(query(false, kProvider, dns::kTypeAny), kProviderWire));
  Bytes changed = query();
  changed[2] |= 0x80;  // QR
  EXPECT_FALSE(is_certificate_query(changed, kProviderWire));
  changed = query();
  changed[2] |= 0x28;  // opcode UPDATE
  EXPECT_FALSE(is_certificate_query(changed, kProviderWire));
  changed = query();
  changed[5] = 2;  // QDCOUNT
  EXPECT_FALSE(is_certificate_query(changed, kProviderWire));
  changed = query();
  changed.back() = 3;  // class CH
  EXPECT_FALSE(is_certificate_query(changed, kProviderWire));
  EXPECT_FALSE(is_certificate_query({}, kProviderWire));
}

TEST(CertificateMessage, LongCertificatesSpanCharacterStrings) {
  Bytes large(1320);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::uint8_t>(i);
  const std::vector<Bytes> certificates = {Bytes(124, 1), large, Bytes(255, 2), Bytes(256, 3)};
  const auto answer = compose_certificate_answer(query(), certificates, {.max_octets = 65'535});
  EXPECT_EQ(certificates_of(answer, kProviderWire).value(), certificates);
  EXPECT_TRUE(dns::parse_message(answer));
}

TEST(CertificateMessage, WhatDoesNotFitIsLeftOutWithTc) {
  const std::vector<Bytes> certificates(4, Bytes(124, 7));
  for (std::size_t limit = 0; limit < 800; ++limit) {
    const auto answer = compose_certificate_answer(query(), certificates, {.max_octets = limit});
    const auto expected = limit < 45 ? 0 : std::min<std::size_t>(4, (limit - 45) / 137);
    EXPECT_EQ(certificates_of(answer, kProviderWire)->size(), expected);
    EXPECT_EQ(dns::is_truncated(answer), expected < 4);
    EXPECT_LE(answer.size(), std::max<std::size_t>(limit, 45));
  }
}

TEST(CertificateMessage, EdnsIsAnsweredWithEdns) {
  const std::vector<Bytes> certificates = {Bytes(124, 7)};
  const auto with = dns::parse_message(compose_certificate_answer(query(true), certificates, {})).value();
  EXPECT_TRUE(with.edns);
  EXPECT_EQ(with.answer.size(), 1u);
  const auto without = dns::parse_message(compose_certificate_answer(query(false), certificates, {})).value();
  EXPECT_FALSE(without.edns);

  Bytes future = query(true);
  future[future.size() - 5] = 1;  // the OPT record's version
  const auto refused = dns::parse_message(compose_certificate_answer(future, certificates, {})).value();
  EXPECT_EQ(refused.rcode, dns::kBadVers);
  EXPECT_TRUE(refused.answer.empty());
}

TEST(CertificateMessage, OtherRecordsAreSkipped) {
  const std::vector<Bytes> certificates = {Bytes(124, 7), Bytes(124, 8), Bytes(124, 9)};
  auto answer = compose_certificate_answer(query(), certificates, {});
  answer[45 + 1] = 0x0e;     // the first owner: "dnscrypt-cert.example.com"
  answer[45 + 137 + 3] = 1;  // the second type: A
  const auto found = certificates_of(answer, kProviderWire);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, std::vector<Bytes>{Bytes(124, 9)});
}

TEST(CertificateMessage, BadAnswersAreErrors) {
  const std::vector<Bytes> certificates = {Bytes(124, 7)};
  auto refused = compose_certificate_answer(query(), {}, {});
  refused[3] |= dns::kRefused;
  EXPECT_THAT(certificates_of(refused, kProviderWire).error().message, HasSubstr("REFUSED"));
  auto cut = compose_certificate_answer(query(), certificates, {});
  cut.pop_back();
  EXPECT_THAT(certificates_of(cut, kProviderWire).error().message, HasSubstr("malformed"));
  EXPECT_FALSE(certificates_of({}, kProviderWire));
  auto overlong = compose_certificate_answer(query(), certificates, {});
  overlong[57] = 200;  // the character-string's length exceeds the record
  EXPECT_TRUE(certificates_of(overlong, kProviderWire)->empty());
}

TEST(CertificateMessage, SurvivesRandomChanges) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::vector<Bytes> certificates = {Bytes(124, 7), Bytes(400, 8)};
  const auto good = compose_certificate_answer(query(true), certificates, {.max_octets = 4096});
  for (int i = 0; i < 20'000; ++i) {
    Bytes wire = good;
    wire.resize(1 + random() % wire.size());
    for (auto change = random() % 6; change > 0; --change)
      wire[random() % wire.size()] = static_cast<std::uint8_t>(random());
    (void)certificates_of(wire, kProviderWire);
    if (is_certificate_query(wire, kProviderWire)) {
      const auto answer = compose_certificate_answer(wire, certificates, {});
      EXPECT_LE(answer.size(), 512u);
      EXPECT_TRUE(dns::parse_message(answer));
    }
  }
}

}  // namespace
}  // namespace doxlab::dnscrypt
