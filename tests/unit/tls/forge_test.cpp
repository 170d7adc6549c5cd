#include "tls/forge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <random>
#include <stdexcept>

#include "tls/certificates.hpp"
#include "unit/tls/loopback.hpp"

namespace doxlab::tls {
namespace {

using internal::parse_certificates;

std::size_t der_bytes_of(const std::string& pem) {
  std::size_t bytes = 0;
  for (const auto& certificate : parse_certificates(pem)) {
    bytes += static_cast<std::size_t>(i2d_X509(certificate.get(), nullptr));
  }
  return bytes;
}

std::size_t minimum(KeyType key) {
  ChainOptions options;
  options.key = key;
  options.chain_bytes = 1;
  try {
    forge_chain(options);
  } catch (const std::runtime_error& error) {
    static constexpr std::string_view kPhrase = "minimum of ";
    const std::string text = error.what();
    const std::size_t at = text.find(kPhrase);
    if (at != std::string::npos) return std::stoul(text.substr(at + kPhrase.size()));
  }
  ADD_FAILURE() << "no minimum was named";
  return 0;
}

void expect_exact(std::size_t bytes, KeyType key) {
  ChainOptions options;
  options.chain_bytes = bytes;
  options.key = key;
  const Chain chain = forge_chain(options);
  ASSERT_EQ(chain.chain_bytes, bytes);
  ASSERT_EQ(der_bytes_of(chain.chain_pem), bytes);
}

TEST(Forge, EverySizeFromTheMinimumIsExact) {
  // Past the sizes where the DER lengths of the padding and of all that contains it grow to two and three octets,
  // and where the intermediate joins.
  const std::size_t from = minimum(KeyType::EcdsaP256);
  for (std::size_t bytes = from; bytes < from + 900; ++bytes) expect_exact(bytes, KeyType::EcdsaP256);
}

TEST(Forge, SizesAroundSixtyFourKibibytesAreExact) {
  for (std::size_t bytes = 65'535 - 40; bytes < 65'535 + 700; bytes += 1) expect_exact(bytes, KeyType::EcdsaP256);
}

TEST(Forge, RandomSizesAreExact) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::size_t> size(minimum(KeyType::EcdsaP256), 60'000);
  for (int i = 0; i < 300; ++i) expect_exact(size(random), KeyType::EcdsaP256);
}

TEST(Forge, RsaSizesAreExact) {
  const std::size_t from = minimum(KeyType::Rsa2048);
  for (const std::size_t bytes : {from, from + 1, from + 2, from + 130, from + 259, std::size_t{3900}}) {
    expect_exact(bytes, KeyType::Rsa2048);
  }
}

TEST(Forge, SmallChainsLeaveTheIntermediateOut) {
  ChainOptions options;
  options.chain_bytes = minimum(KeyType::EcdsaP256);
  EXPECT_EQ(parse_certificates(forge_chain(options).chain_pem).size(), 1u);
  options.chain_bytes = 3900;
  EXPECT_EQ(parse_certificates(forge_chain(options).chain_pem).size(), 2u);
}

TEST(Forge, ImpossibleRequestsAreRefusedWithAReason) {
  ChainOptions options;
  options.chain_bytes = 200'000;
  EXPECT_THROW(forge_chain(options), std::runtime_error);
  options.chain_bytes = 3900;
  options.dns_names.clear();
  EXPECT_THROW(forge_chain(options), std::runtime_error);
}

TEST(Forge, CertificatesCarryWhatStrictVerifiersAskFor) {
  ChainOptions options;
  options.addresses = {IpAddress::v4({192, 0, 2, 1})};
  const Chain chain = forge_chain(options);
  const auto certificates = parse_certificates(chain.chain_pem);
  const auto roots = parse_certificates(chain.root_pem);
  ASSERT_EQ(certificates.size(), 2u);
  ASSERT_EQ(roots.size(), 1u);
  X509* leaf = certificates[0].get();
  X509* intermediate = certificates[1].get();
  X509* root = roots[0].get();

  EXPECT_EQ(X509_check_ca(leaf), 0);
  EXPECT_EQ(X509_check_ca(intermediate), 1);
  EXPECT_EQ(X509_check_ca(root), 1);
  EXPECT_EQ(X509_get_pathlen(intermediate), 0);
  EXPECT_EQ(X509_get_key_usage(root), static_cast<std::uint32_t>(KU_KEY_CERT_SIGN | KU_CRL_SIGN));
  EXPECT_EQ(X509_get_key_usage(leaf), static_cast<std::uint32_t>(KU_DIGITAL_SIGNATURE));
  EXPECT_EQ(X509_get_extended_key_usage(leaf), static_cast<std::uint32_t>(XKU_SSL_SERVER));
  for (X509* certificate : {leaf, intermediate, root}) {
    EXPECT_NE(X509_get0_subject_key_id(certificate), nullptr);
    EXPECT_NE(X509_get0_authority_key_id(certificate), nullptr);
  }
  EXPECT_EQ(X509_check_issued(intermediate, leaf), X509_V_OK);
  EXPECT_EQ(X509_check_issued(root, intermediate), X509_V_OK);
  EXPECT_EQ(X509_check_host(leaf, "dns.doxlab.test", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_ip_asc(leaf, "192.0.2.1", 0), 1);

  // X509_V_FLAG_X509_STRICT is what Python 3.13 turns on.
  X509_STORE* store = X509_STORE_new();
  X509_STORE_add_cert(store, root);
  X509_STORE_set_flags(store, X509_V_FLAG_X509_STRICT);
  STACK_OF(X509)* untrusted = sk_X509_new_null();
  sk_X509_push(untrusted, intermediate);
  X509_STORE_CTX* verification = X509_STORE_CTX_new();
  X509_STORE_CTX_init(verification, store, leaf, untrusted);
  X509_STORE_CTX_set_purpose(verification, X509_PURPOSE_SSL_SERVER);
  EXPECT_EQ(X509_verify_cert(verification), 1)
      << X509_verify_cert_error_string(X509_STORE_CTX_get_error(verification));
  X509_STORE_CTX_free(verification);
  sk_X509_free(untrusted);
  X509_STORE_free(store);
}

TEST(Forge, LargestChainsStillPassAHandshake) {
  for (const KeyType key : {KeyType::EcdsaP256, KeyType::Rsa2048}) {
    const Chain& chain = testing::shared_chain(60'000, key);
    const ClientContext client(testing::client_options(chain));
    const ServerContext server(testing::server_options(chain));
    testing::Loopback loop(client, server);
    loop.handshake();
    EXPECT_EQ(loop.client.info().peer_certificate_bytes, 60'000u);
  }
}

}  // namespace
}  // namespace doxlab::tls
