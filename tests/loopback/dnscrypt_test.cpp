// What DNSCrypt has beyond the tests of every transport: provider keys, constructions, certificates that are
// known, over real sockets on loopback.

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <thread>

#include "client/lookup.hpp"
#include "dns/message.hpp"
#include "io/unix_clock.hpp"
#include "server/server.hpp"
#include "shared_port.hpp"

namespace doxlab {
namespace {

using dnscrypt::EsVersion;

/// A DNSCrypt resolver at one UDP and TCP port of 127.0.0.1, in a thread of its own.
class DnscryptResolver {
 public:
  explicit DnscryptResolver(dnscrypt::ResolverKeyOptions keys = {})
      : keys_(std::make_shared<dnscrypt::ResolverKeys>(server::kDefaultProviderName,
                                                       dnscrypt::ProviderKey::generate(), keys,
                                                       io::unix_clock_now().seconds)),
        io_(1),
        server_(listen_with_shared_ports(
            io_, {.transports = {Transport::Dnscrypt, Transport::DnscryptTcp}, .dnscrypt_keys = keys_},
            [](server::Server& server) {
              server.listen(Transport::Dnscrypt, {IpAddress::v4({127, 0, 0, 1}), 0});
              server.listen(Transport::DnscryptTcp, server.bound().front().address);
            })) {
    thread_ = std::jthread([this] { io_.run(); });
  }
  ~DnscryptResolver() {
    asio::post(io_, [this] { server_->close(50ms); });
    thread_.join();
  }

  SocketAddress address() const { return server_->bound().front().address; }
  dnscrypt::ResolverKeys& keys() { return *keys_; }

  client::LookupOptions options(Transport t) const {
    client::LookupOptions out;
    out.transport = t;
    out.server = address();
    out.timeout = 20s;
    out.linger = 20ms;
    out.session.dnscrypt.provider_name = keys_->provider_name();
    out.session.dnscrypt.provider_key = keys_->provider_key();
    out.session.dnscrypt.clock = io::unix_clock_now();
    return out;
  }

 private:
  std::shared_ptr<dnscrypt::ResolverKeys> keys_;
  asio::io_context io_;
  std::unique_ptr<server::Server> server_;
  std::jthread thread_;
};

Bytes question(std::string_view name = "example.com", std::uint16_t type = 1) {
  return dns::compose_query(name, type, {.id = 0x4242}).value();
}

class DnscryptLoopback : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(UdpAndTcp, DnscryptLoopback,
                         testing::Values(Transport::Dnscrypt, Transport::DnscryptTcp), [](const auto& param) {
                           return param.param == Transport::Dnscrypt ? "udp" : "tcp";
                         });

TEST_P(DnscryptLoopback, AnotherProvidersKeyFailsAndSaysSo) {
  const DnscryptResolver resolver;
  auto options = resolver.options(GetParam());
  options.session.dnscrypt.provider_key = dnscrypt::ProviderKey::generate().public_key();
  const auto result = client::lookup(options, question());
  EXPECT_EQ(result.outcome, client::Outcome::HandshakeFailed);
  EXPECT_NE(result.reason.find("not signed"), std::string::npos) << result.reason;
}

TEST_P(DnscryptLoopback, WithoutProviderNameNothingIsSent) {
  const DnscryptResolver resolver;
  auto options = resolver.options(GetParam());
  options.session.dnscrypt.provider_name.clear();
  const auto result = client::lookup(options, question());
  EXPECT_EQ(result.outcome, client::Outcome::Failed);
  EXPECT_NE(result.reason.find("provider name"), std::string::npos) << result.reason;
}

TEST_P(DnscryptLoopback, EachConstructionIsUsedWhenItIsTheOnlyOneOffered) {
  for (const auto version : {EsVersion::X25519XSalsa20Poly1305, EsVersion::X25519XChaCha20Poly1305}) {
    const DnscryptResolver resolver({.es_versions = {version}});
    const auto result = client::lookup(resolver.options(GetParam()), question());
    ASSERT_EQ(result.outcome, client::Outcome::Answered) << result.reason;
    EXPECT_EQ(result.handshake->cipher, dnscrypt::to_string(version));
  }
}

TEST_P(DnscryptLoopback, TheClientsPreferenceDecidesBetweenConstructions) {
  const DnscryptResolver resolver;
  auto options = resolver.options(GetParam());
  options.session.dnscrypt.es_versions = {EsVersion::X25519XSalsa20Poly1305,
                                          EsVersion::X25519XChaCha20Poly1305};
  const auto result = client::lookup(options, question());
  ASSERT_EQ(result.outcome, client::Outcome::Answered) << result.reason;
  EXPECT_EQ(result.handshake->cipher, "X25519-XSalsa20Poly1305");
}

TEST_P(DnscryptLoopback, AConstructionThatIsNotOfferedFails) {
  const DnscryptResolver resolver({.es_versions = {EsVersion::X25519XChaCha20Poly1305}});
  auto options = resolver.options(GetParam());
  options.session.dnscrypt.es_versions = {EsVersion::X25519XSalsa20Poly1305};
  const auto result = client::lookup(options, question());
  EXPECT_EQ(result.outcome, client::Outcome::HandshakeFailed) << result.reason;
  EXPECT_FALSE(result.reason.empty());
}

TEST_P(DnscryptLoopback, ACertificateOfAnEarlierLookupSavesTheFetch) {
  DnscryptResolver resolver;
  const auto first = client::lookup(resolver.options(GetParam()), question());
  ASSERT_EQ(first.outcome, client::Outcome::Answered) << first.reason;
  ASSERT_TRUE(first.ticket);
  // Newer keys are offered by now, but the earlier ones are still accepted.
  resolver.keys().rotate(io::unix_clock_now().seconds);
  auto options = resolver.options(GetParam());
  options.session.ticket = first.ticket;
  const auto second = client::lookup(options, question());
  ASSERT_EQ(second.outcome, client::Outcome::Answered) << second.reason;
  EXPECT_TRUE(second.handshake->resumed);
  EXPECT_FALSE(second.ticket) << "a certificate was fetched";
}

TEST(DnscryptLoopback, TruncatedOverUdpComesOverTcpWithTheSameCertificate) {
  const DnscryptResolver resolver;
  const auto result = client::lookup(resolver.options(Transport::Dnscrypt), question("huge.example.com", 16));
  // About 20 KB do not fit DNSCrypt over TCP either: the answer there is truncated too, and is the answer.
  ASSERT_EQ(result.outcome, client::Outcome::Answered) << result.reason;
  EXPECT_TRUE(result.used_tcp_fallback);
  EXPECT_TRUE(result.connected);
  EXPECT_FALSE(result.handshake->resumed) << "the handshake is that of UDP";
  EXPECT_LT(*result.secured, *result.connected);
}

}  // namespace
}  // namespace doxlab
