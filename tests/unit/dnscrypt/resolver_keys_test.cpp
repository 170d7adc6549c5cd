#include "dnscrypt/resolver_keys.hpp"

#include <gtest/gtest.h>

#include <set>

namespace doxlab::dnscrypt {
namespace {

using namespace std::chrono_literals;

constexpr UnixSeconds kNow = 1'800'000'000;
constexpr std::array kBoth = {EsVersion::X25519XChaCha20Poly1305, EsVersion::X25519XSalsa20Poly1305};

ResolverKeys make(ResolverKeyOptions options = {}) {
  return {"2.dnscrypt-cert.example.com", ProviderKey::generate(), std::move(options), kNow};
}

TEST(ResolverKeys, OffersOneUsableCertificateForEachConstruction) {
  const auto keys = make();
  const auto set = keys.current();
  ASSERT_EQ(set->offered.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto certificate =
        choose_certificate(set->offered, keys.provider_key(), kNow, std::span(&kBoth[i], 1));
    ASSERT_TRUE(certificate) << certificate.error().message;
    EXPECT_EQ(certificate->start, kNow - 3600);
    EXPECT_EQ(certificate->end, kNow + 86'400);
    const auto key = set->find(certificate->client_magic, kNow);
    ASSERT_TRUE(key);
    EXPECT_EQ(key->pair.public_key, certificate->resolver_key);
  }
}

TEST(ResolverKeys, PreferredConstructionHasTheHighestSerial) {
  auto keys = make();
  for (int i = 0; i < 3; ++i) {
    const auto& accepted = keys.current()->accepted;
    EXPECT_EQ(accepted[0]->certificate.es_version, EsVersion::X25519XChaCha20Poly1305);
    EXPECT_EQ(accepted[1]->certificate.serial + 1, accepted[0]->certificate.serial);
    const auto last = accepted[0]->certificate.serial;
    keys.rotate(kNow);
    EXPECT_GT(keys.current()->accepted[1]->certificate.serial, last);
  }
}

TEST(ResolverKeys, EarlierKeysAreAcceptedUntilTheirCertificatesEnd) {
  auto keys = make();
  const auto first = keys.current()->accepted.front();
  keys.rotate(kNow + 43'200);
  EXPECT_EQ(keys.current()->find(first->certificate.client_magic, kNow + 86'400), first);
  EXPECT_EQ(keys.current()->find(first->certificate.client_magic, kNow + 86'401), nullptr);
  EXPECT_EQ(keys.current()->accepted.size(), 4u);
  EXPECT_EQ(keys.current()->offered.size(), 2u);
  keys.rotate(kNow + 86'401);
  EXPECT_EQ(keys.current()->find(first->certificate.client_magic, kNow), nullptr);
}

TEST(ResolverKeys, DroppedSecretsGoWithTheirLastUser) {
  auto keys = make();
  const std::weak_ptr<const ResolverKey> first = keys.current()->accepted.front();
  keys.rotate(kNow + 86'401);
  EXPECT_TRUE(first.expired());
}

TEST(ResolverKeys, SerialsAlwaysGrow) {
  auto keys = make();
  std::uint32_t last = keys.current()->accepted.front()->certificate.serial;
  for (int i = 0; i < 10; ++i) {
    keys.rotate(kNow - 100);  // even if the clock goes back
    const auto serial = keys.current()->accepted.front()->certificate.serial;
    EXPECT_GT(serial, last);
    last = serial;
  }
}

TEST(ResolverKeys, RotateWhenDueAndNotBefore) {
  auto keys = make({.rotation_interval = 100s});
  EXPECT_EQ(keys.maintain(kNow), kNow + 100);
  EXPECT_EQ(keys.maintain(kNow + 99), kNow + 100);
  EXPECT_EQ(keys.current()->generation, 1u);
  EXPECT_EQ(keys.maintain(kNow + 100), kNow + 200);
  EXPECT_EQ(keys.current()->generation, 2u);
}

TEST(ResolverKeys, AThousandRotationsStayBoundedAndNeverShareAMagic) {
  auto keys = make(
      {.es_versions = {EsVersion::X25519XChaCha20Poly1305}, .lifetime = 1000s, .rotation_interval = 100s});
  for (UnixSeconds now = kNow; now < kNow + 100'000; now += 100) {
    keys.maintain(now);
    const auto set = keys.current();
    EXPECT_LE(set->accepted.size(), 11u);
    std::set<ClientMagic> magics;
    for (const auto& key : set->accepted) {
      EXPECT_TRUE(is_allowed_client_magic(key->certificate.client_magic));
      EXPECT_TRUE(magics.insert(key->certificate.client_magic).second);
    }
  }
  EXPECT_EQ(keys.current()->generation, 1000u);
}

TEST(ResolverKeys, UnsafeOptionsAreRefused) {
  EXPECT_THROW(make({.rotation_interval = 25h}), std::invalid_argument);
  EXPECT_THROW(make({.rotation_interval = 0s}), std::invalid_argument);
  EXPECT_THROW(make({.lifetime = 3600s, .rotation_interval = 3600s}), std::invalid_argument);
  EXPECT_THROW(make({.es_versions = {}}), std::invalid_argument);
  EXPECT_THROW((ResolverKeys{"bad..name", ProviderKey::generate(), {}, kNow}), std::invalid_argument);
}

}  // namespace
}  // namespace doxlab::dnscrypt
