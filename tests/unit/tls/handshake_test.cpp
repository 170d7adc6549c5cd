#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "unit/tls/loopback.hpp"

namespace doxlab::tls {
namespace {

using namespace doxlab::tls::testing;
using ::testing::HasSubstr;

HandshakeInfo info_of(const ClientOptions& client, const ServerOptions& server) {
  const ClientContext client_context(client);
  const ServerContext server_context(server);
  Loopback loop(client_context, server_context);
  loop.handshake();
  return loop.client.info();
}

// Runs a handshake that must fail at the client and returns its reason.
std::string client_failure(const ClientOptions& client, const ServerOptions& server,
                           const std::string& name = kName) {
  const ClientContext client_context(client);
  const ServerContext server_context(server);
  Loopback loop(client_context, server_context, nullptr, name);
  loop.start();
  loop.run();
  EXPECT_FALSE(loop.client.handshake_done());
  return loop.client_result ? "no failure" : loop.client_result.error().message;
}

TEST(Handshake, NegotiatesTheHybridGroupByDefault) {
  const HandshakeInfo info = info_of(client_options(), server_options());
  EXPECT_EQ(info.version, "TLSv1.3");
  EXPECT_EQ(info.group, "X25519MLKEM768");
  EXPECT_EQ(info.alpn, "dot");
  EXPECT_THAT(info.cipher, HasSubstr("TLS_"));
  EXPECT_FALSE(info.resumed);
  EXPECT_FALSE(info.hello_retry_request);
  EXPECT_EQ(info.early_data, EarlyData::NotOffered);
  EXPECT_EQ(info.peer_certificate_bytes, 1500u);
}

class HandshakeGroups : public ::testing::TestWithParam<const char*> {};

TEST_P(HandshakeGroups, EachIsReportedByItsIanaName) {
  ClientOptions client = client_options();
  client.groups = GetParam();
  ServerOptions server = server_options();
  server.groups = GetParam();
  const HandshakeInfo info = info_of(client, server);
  EXPECT_EQ(info.group, GetParam());
  EXPECT_FALSE(info.hello_retry_request);
}

INSTANTIATE_TEST_SUITE_P(All, HandshakeGroups,
                         ::testing::Values("X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024", "MLKEM512",
                                           "MLKEM768", "MLKEM1024", "x25519", "x448", "secp256r1", "secp384r1",
                                           "secp521r1", "ffdhe2048"));

TEST(Handshake, ServerWithoutMlKemCostsNoRetryBecauseX25519HasAKeyShareToo) {
  ServerOptions server = server_options();
  server.groups = "x25519";
  const HandshakeInfo info = info_of(client_options(), server);
  EXPECT_EQ(info.group, "x25519");
  EXPECT_FALSE(info.hello_retry_request);
}

TEST(Handshake, GroupWithoutKeyShareCostsAHelloRetryRequest) {
  ClientOptions client = client_options();
  client.groups = "*x25519:secp256r1";
  ServerOptions server = server_options();
  server.groups = "secp256r1";
  const ClientContext client_context(client);
  const ServerContext server_context(server);
  Loopback loop(client_context, server_context);
  loop.handshake();
  EXPECT_TRUE(loop.client.info().hello_retry_request);
  EXPECT_TRUE(loop.server.info().hello_retry_request);
  EXPECT_EQ(loop.client.info().group, "secp256r1");
}

TEST(Handshake, NoCommonGroupFailsWithTheAlertsName) {
  ClientOptions client = client_options();
  client.groups = "x25519";
  ServerOptions server = server_options();
  server.groups = "secp384r1";
  EXPECT_EQ(client_failure(client, server), "the peer sent the alert handshake_failure");
}

TEST(Handshake, UnknownGroupIsRefusedWhenTheContextIsMade) {
  ClientOptions client = client_options();
  client.groups = "x25519:kyber90s";
  try {
    const ClientContext context(client);
    FAIL() << "accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("x25519:kyber90s"));
  }
}

TEST(Verification, WrongNameNamesTheExpectedOne) {
  EXPECT_EQ(client_failure(client_options(), server_options(), "other.doxlab.test"),
            "certificate verify failed: hostname mismatch (expected other.doxlab.test)");
}

TEST(Verification, CommonNameIsNoFallback) {
  EXPECT_THAT(client_failure(client_options(), server_options(), "doxlab server"), HasSubstr("hostname mismatch"));
}

TEST(Verification, FinalDotOfTheNameIsIgnored) {
  const ClientContext client(client_options());
  const ServerContext server(server_options());
  Loopback loop(client, server, nullptr, "dns.doxlab.test.");
  loop.handshake();
}

TEST(Verification, AddressesMatchTheirAlternativeNames) {
  const ClientContext client(client_options());
  const ServerContext server(server_options());
  for (const char* address : {"192.0.2.1", "2001:db8::1"}) {
    Loopback loop(client, server, nullptr, address);
    loop.handshake();
  }
  EXPECT_EQ(client_failure(client_options(), server_options(), "192.0.2.9"),
            "certificate verify failed: IP address mismatch (expected 192.0.2.9)");
}

TEST(Verification, WildcardsCoverOneWholeLabelOnly) {
  ChainOptions forged;
  forged.chain_bytes = 1500;
  forged.dns_names = {"*.doxlab.test", "d*.partial.test"};
  const Chain chain = forge_chain(forged);
  const ClientContext client(client_options(chain));
  const ServerContext server(server_options(chain));
  Loopback good(client, server, nullptr, "any.doxlab.test");
  good.handshake();
  for (const char* name : {"a.b.doxlab.test", "doxlab.test", "dns.partial.test"}) {
    EXPECT_THAT(client_failure(client_options(chain), server_options(chain), name), HasSubstr("hostname mismatch"));
  }
}

TEST(Verification, ExpiredAndFutureCertificatesAreRefused) {
  ChainOptions forged;
  forged.chain_bytes = 1500;
  forged.valid_from_days = -10;
  forged.valid_to_days = -2;
  const Chain expired = forge_chain(forged);
  EXPECT_EQ(client_failure(client_options(expired), server_options(expired)),
            "certificate verify failed: certificate has expired");
  forged.valid_from_days = 2;
  forged.valid_to_days = 10;
  const Chain future = forge_chain(forged);
  EXPECT_EQ(client_failure(client_options(future), server_options(future)),
            "certificate verify failed: certificate is not yet valid");
}

TEST(Verification, UnknownRootIsRefused) {
  const Chain& other = shared_chain(1501);
  EXPECT_THAT(client_failure(client_options(other), server_options()), HasSubstr("certificate verify failed: "));
}

TEST(Verification, ServerLearnsTheClientsReason) {
  const ClientContext client(client_options(shared_chain(1501)));
  const ServerContext server(server_options());
  Loopback loop(client, server);
  loop.start();
  loop.run();
  ASSERT_FALSE(loop.server_result);
  EXPECT_EQ(loop.server_result.error().message, "the peer sent the alert unknown_ca");
}

TEST(Verification, IsSkippedOnlyWhenAskedFor) {
  ClientOptions client = client_options(shared_chain(1501));
  client.verify = false;
  EXPECT_EQ(info_of(client, server_options()).alpn, "dot");
}

TEST(Alpn, NoOverlapIsRefusedWithTheAlertForIt) {
  const ClientContext client(client_options());
  const ServerContext server(server_options());
  Loopback loop(client, server, nullptr, kName, "h2");
  loop.start();
  loop.run();
  ASSERT_FALSE(loop.client_result);
  EXPECT_EQ(loop.client_result.error().message, "the peer sent the alert no_application_protocol");
  ASSERT_FALSE(loop.server_result);
  EXPECT_THAT(loop.server_result.error().message, HasSubstr("no_application_protocol"));
}

TEST(Alpn, ClientWithoutAListIsRefusedWhereItIsRequired) {
  const ClientContext client(client_options());
  const ServerContext strict(server_options());
  Loopback refused(client, strict, nullptr, kName, "");
  refused.start();
  refused.run();
  ASSERT_FALSE(refused.client_result);
  EXPECT_EQ(refused.client_result.error().message, "the peer sent the alert no_application_protocol");

  ServerOptions lenient = server_options();
  lenient.alpn_required = false;
  const ServerContext server(lenient);
  Loopback accepted(client, server, nullptr, kName, "");
  accepted.handshake();
  EXPECT_EQ(accepted.client.info().alpn, "");
}

TEST(Alpn, ServersPreferenceDecides) {
  ServerOptions options = server_options();
  options.alpn = {"h2", "dot"};
  const ClientContext client(client_options());
  const ServerContext server(options);
  Loopback loop(client, server, nullptr, kName, "dot");
  loop.handshake();
  EXPECT_EQ(loop.server.info().alpn, "dot");
}

TEST(Quic, ClientHelloWithoutTransportParametersIsRefused) {
  const ClientContext client(client_options());
  const ServerContext server(server_options());
  Loopback loop(client, server);
  loop.server = Session(server.new_ssl(true));
  loop.start();
  loop.run();
  ASSERT_FALSE(loop.client_result);
  EXPECT_EQ(loop.client_result.error().message, "the peer sent the alert missing_extension");
}

TEST(KeyLog, BothSidesWriteTheSameLines) {
  std::vector<std::string> client_lines, server_lines;
  ClientOptions client = client_options();
  client.key_log = [&](std::string_view line) { client_lines.emplace_back(line); };
  ServerOptions server = server_options();
  server.key_log = [&](std::string_view line) { server_lines.emplace_back(line); };
  info_of(client, server);
  ASSERT_FALSE(client_lines.empty());
  EXPECT_THAT(client_lines, ::testing::Contains(HasSubstr("CLIENT_TRAFFIC_SECRET_0 ")));
  EXPECT_THAT(client_lines, ::testing::UnorderedElementsAreArray(server_lines));
}

TEST(Identity, KeyOfAnotherCertificateIsRefused) {
  ServerOptions server = server_options();
  server.key_pem = shared_chain(1501).key_pem;
  EXPECT_THROW(ServerContext{server}, std::runtime_error);
}

TEST(Identity, BrokenPemIsRefusedWithAReason) {
  ServerOptions server = server_options();
  server.chain_pem.insert(200, "!!!!");
  EXPECT_THROW(ServerContext{server}, std::runtime_error);
  ClientOptions client;
  client.roots_pem = "not a certificate";
  EXPECT_THROW(ClientContext{client}, std::runtime_error);
}

class Compression : public ::testing::TestWithParam<CertificateCompression> {};

TEST_P(Compression, ShrinksTheServersFlight) {
  // Names compress, random padding does not.
  static const Chain chain = [] {
    ChainOptions forged;
    for (int i = 0; i < 100; ++i) forged.dns_names.push_back("host" + std::to_string(i) + ".doxlab.test");
    return forge_chain(forged);
  }();
  const ClientContext plain_client(client_options(chain));
  ClientOptions client = client_options(chain);
  client.certificate_compression = {GetParam()};
  const ClientContext compressing_client(client);
  ServerOptions server = server_options(chain);
  server.tickets = 0;  // their length varies by a cipher block
  const ServerContext plain_server(server);
  server.certificate_compression = {CertificateCompression::Zstd, CertificateCompression::Zlib};
  const ServerContext compressing_server(server);

  Loopback both(compressing_client, compressing_server), client_only(compressing_client, plain_server),
      server_only(plain_client, compressing_server);
  for (Loopback* loop : {&both, &client_only, &server_only}) loop->handshake();
  EXPECT_LT(both.bytes_to_client + 1000, client_only.bytes_to_client);
  EXPECT_NEAR(static_cast<double>(server_only.bytes_to_client), static_cast<double>(client_only.bytes_to_client), 3);
  EXPECT_EQ(both.client.info().peer_certificate_bytes, 3900u);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Compression,
                         ::testing::Values(CertificateCompression::Zlib, CertificateCompression::Zstd));

}  // namespace
}  // namespace doxlab::tls
