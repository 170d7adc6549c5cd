#include "dnscrypt/certificate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace doxlab::dnscrypt {
namespace {

using testing::HasSubstr;

template <std::size_t N>
std::array<std::uint8_t, N> counting(std::uint8_t first) {
  std::array<std::uint8_t, N> out;
  for (std::size_t i = 0; i < N; ++i) out[i] = static_cast<std::uint8_t>(first + i);
  return out;
}

constexpr UnixSeconds kNow = 1'800'000'000;
constexpr EsVersion kSalsa = EsVersion::X25519XSalsa20Poly1305, kChaCha = EsVersion::X25519XChaCha20Poly1305;
constexpr std::array kBoth = {kChaCha, kSalsa};

class CertificateTest : public testing::Test {
 protected:
  Certificate make(std::uint32_t serial, EsVersion version = kChaCha) const {
    Certificate certificate;
    certificate.es_version = version;
    certificate.resolver_key = KeyPair::generate().public_key;
    certificate.client_magic = counting<8>(static_cast<std::uint8_t>(serial + 1));
    certificate.serial = serial;
    certificate.start = static_cast<std::uint32_t>(kNow - 3600);
    certificate.end = static_cast<std::uint32_t>(kNow + 86'400);
    sign_certificate(certificate, provider);
    return certificate;
  }
  std::string problem(const Certificate& certificate, UnixSeconds now = kNow) const {
    const auto result = check_certificate(certificate, provider.public_key(), now);
    return result ? "" : result.error().message;
  }

  ProviderKey provider = ProviderKey::generate();
};

// draft-denis-dprive-dnscrypt-11, appendix 2.
TEST_F(CertificateTest, VectorOfTheDraft) {
  const auto signer = ProviderKey::from_seed(counting<32>(0));
  EXPECT_EQ(to_hex(signer.public_key()), "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8");
  Certificate certificate;
  certificate.resolver_key = KeyPair::from_secret(counting<32>(0x20)).public_key;
  certificate.client_magic = counting<8>(0xb1);
  certificate.serial = 1;
  certificate.start = 0x68000000;
  certificate.end = 0x68015180;
  sign_certificate(certificate, signer);
  const auto wire = compose_certificate(certificate);
  EXPECT_EQ(to_hex(wire),
            "444e5343000200003a570ea17f47b80217977fbb455840bfd50ab32f5fbf2aabc173a6a49b7a49ca55362a6c5dec4765"
            "7cf515e9"
            "f99382a316dfecd964b94d1c4659cac45961400c358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2"
            "cd166254"
            "b1b2b3b4b5b6b7b8000000016800000068015180");
  EXPECT_EQ(parse_certificate(wire).value(), certificate);
  EXPECT_TRUE(check_certificate(certificate, signer.public_key(), 0x68000000));
}

TEST_F(CertificateTest, DatesAreInclusive) {
  const auto certificate = make(1);
  EXPECT_THAT(problem(certificate, certificate.start - 1), HasSubstr("becomes valid in 1 s"));
  EXPECT_EQ(problem(certificate, certificate.start), "");
  EXPECT_EQ(problem(certificate, certificate.end), "");
  EXPECT_THAT(problem(certificate, certificate.end + 1), HasSubstr("expired 1 s ago"));
  EXPECT_THAT(problem(certificate, UnixSeconds{1} << 40), HasSubstr("expired"));
}

TEST_F(CertificateTest, EmptyAndInvertedDatesAreRefused) {
  auto certificate = make(1);
  certificate.start = certificate.end = kNow;
  sign_certificate(certificate, provider);
  EXPECT_THAT(problem(certificate), HasSubstr("ends before it starts"));
  certificate.end = certificate.start - 1;
  sign_certificate(certificate, provider);
  EXPECT_THAT(problem(certificate), HasSubstr("ends before it starts"));
}

TEST_F(CertificateTest, SignatureCoversEveryFieldBehindIt) {
  auto certificate = make(1);
  certificate.extensions = {1, 2, 3, 4};
  sign_certificate(certificate, provider);
  const auto wire = compose_certificate(certificate);
  EXPECT_EQ(problem(parse_certificate(wire).value()), "");
  for (std::size_t i = 8; i < wire.size(); ++i) {
    Bytes changed = wire;
    changed[i] ^= 0x10;
    EXPECT_THAT(problem(parse_certificate(changed).value()), HasSubstr("not signed")) << "octet " << i;
  }
  const auto without = BytesView(wire).first(kCertificateOctets);
  EXPECT_THAT(problem(parse_certificate(without).value()), HasSubstr("not signed"));
}

TEST_F(CertificateTest, UnknownExtensionsAndMinorVersionsAreIgnored) {
  auto certificate = make(1);
  certificate.minor_version = 7;
  certificate.extensions = Bytes(300, 0xab);
  sign_certificate(certificate, provider);
  const auto parsed = parse_certificate(compose_certificate(certificate));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, certificate);
  EXPECT_EQ(problem(*parsed), "");
}

TEST_F(CertificateTest, AnotherProvidersSignatureIsRefused) {
  auto certificate = make(1);
  sign_certificate(certificate, ProviderKey::generate());
  EXPECT_THAT(problem(certificate), HasSubstr("not signed"));
}

TEST_F(CertificateTest, ClientMagicOfOtherProtocolsIsRefused) {
  auto certificate = make(1);
  certificate.client_magic = {0, 0, 0, 0, 0, 0, 0, 9};
  sign_certificate(certificate, provider);
  EXPECT_THAT(problem(certificate), HasSubstr("client magic"));
}

TEST_F(CertificateTest, MalformedIsRefused) {
  const auto wire = compose_certificate(make(1));
  for (std::size_t size = 0; size < wire.size(); ++size) {
    EXPECT_FALSE(parse_certificate(BytesView(wire).first(size))) << size;
  }
  Bytes other = wire;
  other[0] = 'X';
  EXPECT_FALSE(parse_certificate(other));
  for (const std::uint8_t version : std::to_array<std::uint8_t>({0, 3, 4, 255})) {  // 3: post-quantum
    other = wire;
    other[5] = version;
    EXPECT_THAT(parse_certificate(other).error().message, HasSubstr("not supported"));
  }
}

TEST_F(CertificateTest, ParsingSurvivesRandomOctets) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto good = compose_certificate(make(1));
  for (int i = 0; i < 20'000; ++i) {
    Bytes wire = good;
    wire.resize(random() % 200, static_cast<std::uint8_t>(random()));
    for (auto change = random() % 4; change > 0 && !wire.empty(); --change) {
      wire[random() % wire.size()] = static_cast<std::uint8_t>(random());
    }
    const auto parsed = parse_certificate(wire);
    if (!parsed) continue;
    EXPECT_EQ(compose_certificate(*parsed), wire);
    if (wire != good && check_certificate(*parsed, provider.public_key(), kNow)) {
      // Only what the signature does not cover may differ: the minor version.
      EXPECT_TRUE(std::ranges::equal(BytesView(wire).subspan(8), BytesView(good).subspan(8)));
    }
  }
}

TEST_F(CertificateTest, ChoiceTakesTheHighestSerialOfThePreferredConstruction) {
  const std::vector<Bytes> wires = {compose_certificate(make(3)), compose_certificate(make(9, kSalsa)),
                                    compose_certificate(make(5)), compose_certificate(make(4))};
  EXPECT_EQ(choose_certificate(wires, provider.public_key(), kNow, kBoth)->serial, 5u);
  EXPECT_EQ(choose_certificate(wires, provider.public_key(), kNow, std::array{kSalsa, kChaCha})->serial, 9u);
  EXPECT_EQ(choose_certificate(wires, provider.public_key(), kNow, std::array{kSalsa})->serial, 9u);
}

TEST_F(CertificateTest, ChoicePassesOverUnusableOnes) {
  auto expired = make(9);
  expired.end = static_cast<std::uint32_t>(kNow - 1);
  sign_certificate(expired, provider);
  auto forged = make(10);
  sign_certificate(forged, ProviderKey::generate());
  Bytes post_quantum = compose_certificate(make(11));
  post_quantum[5] = 3;
  const std::vector<Bytes> wires = {Bytes{},
                                    compose_certificate(expired),
                                    compose_certificate(make(2)),
                                    compose_certificate(forged),
                                    post_quantum,
                                    Bytes(124)};
  EXPECT_EQ(choose_certificate(wires, provider.public_key(), kNow, kBoth)->serial, 2u);
}

TEST_F(CertificateTest, ChoiceWithoutAnyUsableSaysWhy) {
  EXPECT_THAT(choose_certificate({}, provider.public_key(), kNow, kBoth).error().message,
              HasSubstr("no certificate"));
  const std::vector<Bytes> salsa = {compose_certificate(make(1, kSalsa))};
  EXPECT_THAT(choose_certificate(salsa, provider.public_key(), kNow, std::array{kChaCha}).error().message,
              HasSubstr("not accepted"));
  auto forged = make(1);
  sign_certificate(forged, ProviderKey::generate());
  const std::vector<Bytes> both = {compose_certificate(forged), salsa[0], Bytes{}};
  EXPECT_THAT(choose_certificate(both, provider.public_key(), kNow, std::array{kChaCha}).error().message,
              HasSubstr("not signed"));
}

}  // namespace
}  // namespace doxlab::dnscrypt
