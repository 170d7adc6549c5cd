// DNSCrypt with programs that others wrote: dnscrypt-proxy asks `doxlab serve`, and `doxlab query` asks
// dnsdist.

#include <gmock/gmock.h>

#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

using testing::HasSubstr;

constexpr std::uint16_t kProxyPort = 5300, kDnsdistPort = 8443;

/// A network with `doxlab serve` in it: DNSCrypt with the given construction, and Do53.
class DnscryptInterop : public testing::Test {
 protected:
  void serve(const std::string& construction) {
    // `large` is more than DNSCrypt carries over UDP, and less than it carries over TCP.
    std::string zone =
        "$ORIGIN example.com.\n$TTL 300\n@ SOA ns hostmaster 1 3600 600 864000 60\n@ A 192.0.2.1\n";
    for (int k = 0; k < 10; ++k) zone += std::format("large TXT \"{} {}\"\n", k, std::string(200, 'x'));
    server_ = network_.start(
        test::doxlab({"serve", "--ip", "127.0.0.1", "--only", "do53,do53-tcp,dnscrypt,dnscrypt-tcp",
                      "--construction", construction, "--zone", folder_.write("zone", zone)}));
    ASSERT_TRUE(server_->wait_for("ready\n", test::kProgramLimit)) << server_->output() << server_->errors();
  }

  /// The rest of the line of the server's output that begins with `label`.
  std::string told(std::string_view label) const {
    const auto output = server_->output();
    const auto begin = output.find(label);
    if (begin == std::string::npos) throw std::runtime_error(std::format("no '{}' in: {}", label, output));
    const auto end = output.find('\n', begin);
    return output.substr(begin + label.size(), end - begin - label.size());
  }

  test::Json query(std::vector<std::string> words) const {
    words.insert(words.begin(), {"query", "--json", "--timeout", "30"});
    const auto finished = network_.run(test::doxlab(words));
    EXPECT_EQ(finished.status, 0) << finished;
    return test::parse_json(finished.output);
  }

  test::TemporaryFolder folder_;
  test::Network network_;
  std::unique_ptr<net::ChildProcess> server_;
};

class DnscryptProxy : public DnscryptInterop {
 protected:
  void start_proxy(bool over_tcp) {
    folder_.write("proxy.toml", std::format(R"(listen_addresses = ['127.0.0.1:{}']
server_names = ['doxlab']
force_tcp = {}
timeout = 20000
netprobe_timeout = 0
ignore_system_dns = true
bootstrap_resolvers = ['127.0.0.1:53']
cache = false
log_level = 0
[static.doxlab]
stamp = '{}'
)",
                                            kProxyPort, over_tcp, told("DNSCrypt stamp: ")));
    proxy_ = network_.start({"dnscrypt-proxy", "-config", folder_.file("proxy.toml")});
    ASSERT_TRUE(proxy_->wait_for("live servers: 1", test::kProgramLimit))
        << proxy_->output() << proxy_->errors();
  }

  test::Finished kdig(std::vector<std::string> words) const {
    words.insert(words.begin(),
                 {"kdig", "@127.0.0.1", "-p", std::to_string(kProxyPort), "+retry=0", "+timeout=30"});
    return network_.run(words);
  }

  /// Answers of both sizes come through it; the resolver offers one construction, so that is the one in use.
  void expect_answers() const {
    const auto small = kdig({"example.com", "A", "+short"});
    EXPECT_EQ(small.status, 0) << small;
    EXPECT_EQ(small.output, "192.0.2.1\n") << small;
    const auto large = kdig({"large.example.com", "TXT", "+tcp"});
    EXPECT_EQ(large.status, 0) << large;
    EXPECT_THAT(large.output, HasSubstr("ANSWER: 10")) << large;
    EXPECT_EQ(server_->errors(), "");
  }

  std::unique_ptr<net::ChildProcess> proxy_;
};

TEST_F(DnscryptProxy, UdpWithXChaCha20) {
  serve("xchacha20");
  start_proxy(false);
  expect_answers();
}

TEST_F(DnscryptProxy, UdpWithXSalsa20) {
  serve("xsalsa20");
  start_proxy(false);
  expect_answers();
}

TEST_F(DnscryptProxy, TcpWithXChaCha20) {
  serve("xchacha20");
  start_proxy(true);
  expect_answers();
}

TEST_F(DnscryptProxy, TcpWithXSalsa20) {
  serve("xsalsa20");
  start_proxy(true);
  expect_answers();
}

class DnsdistDnscrypt : public DnscryptInterop {
 protected:
  /// `version` is dnsdist's name of the construction: VERSION1 is XSalsa20, VERSION2 XChaCha20.
  void start_dnsdist(const std::string& version) {
    serve("xchacha20");
    folder_.write("dnsdist.lua", std::format(R"(setSecurityPollSuffix("")
setLocal("127.0.0.1:5353")
newServer({{address="127.0.0.1:53", healthCheckMode="up"}})
generateDNSCryptProviderKeys("{0}/provider.pub", "{0}/provider.key")
generateDNSCryptCertificate("{0}/provider.key", "{0}/resolver.cert", "{0}/resolver.key", 1, os.time() - 60,
                            os.time() + 86400, DNSCryptExchangeVersion.{1})
addDNSCryptBind("127.0.0.1:{2}", "2.dnscrypt-cert.dnsdist.test", "{0}/resolver.cert", "{0}/resolver.key")
)",
                                             folder_.path(), version, kDnsdistPort));
    dnsdist_ = network_.start_server(
        {"dnsdist", "--supervised", "--disable-syslog", "-C", folder_.file("dnsdist.lua")}, {kDnsdistPort},
        {kDnsdistPort});
  }

  std::vector<std::string> at_dnsdist(std::vector<std::string> words) const {
    words.insert(words.begin(), {std::format("@dnscrypt://127.0.0.1:{}", kDnsdistPort), "--provider-name",
                                 "2.dnscrypt-cert.dnsdist.test", "--provider-key",
                                 to_hex(as_bytes(folder_.read("provider.pub")))});
    return words;
  }

  void expect_answers(const std::string& cipher) const {
    const auto small = query(at_dnsdist({"example.com"}));
    EXPECT_EQ(test::text(small, "transport"), "dnscrypt");
    EXPECT_EQ(test::text(small, "tls_version"), "DNSCrypt v2");
    EXPECT_EQ(test::text(small, "cipher"), cipher);
    EXPECT_EQ(test::number(small, "certificate_bytes"), 124);
    EXPECT_FALSE(small["tcp_fallback"].get<bool>());
    ASSERT_EQ(small["answer"].size(), 1u);
    EXPECT_EQ(test::text(small["answer"][0], "rdata"), "192.0.2.1");

    // dnsdist gives its certificate over UDP alone; what was learned there serves the query over TCP.
    const auto large = query(at_dnsdist({"large.example.com", "TXT"}));
    EXPECT_TRUE(large["tcp_fallback"].get<bool>());
    EXPECT_EQ(large["answer"].size(), 10u);
    EXPECT_LT(test::number(large, "secured_ms"), test::number(large, "connected_ms"));
  }

  std::unique_ptr<net::ChildProcess> dnsdist_;
};

TEST_F(DnsdistDnscrypt, XChaCha20) {
  start_dnsdist("VERSION2");
  expect_answers("X25519-XChaCha20Poly1305");
}

TEST_F(DnsdistDnscrypt, XSalsa20) {
  start_dnsdist("VERSION1");
  expect_answers("X25519-XSalsa20Poly1305");
}

TEST_F(DnsdistDnscrypt, ConstructionThatItLacksIsAFailedHandshake) {
  start_dnsdist("VERSION1");
  const auto finished = network_.run(test::doxlab([&] {
    auto words = at_dnsdist({"example.com", "--construction", "xchacha20"});
    words.insert(words.begin(), "query");
    return words;
  }()));
  EXPECT_EQ(finished.status, 1) << finished;
  EXPECT_THAT(finished.errors, HasSubstr("handshake failed"));
}

TEST_F(DnscryptInterop, OwnStampWorksInQueryOverUdpAndTcp) {
  serve("xchacha20,xsalsa20");
  const auto stamp = "@" + told("DNSCrypt stamp: ");
  const auto udp = query({"example.com", stamp});
  EXPECT_EQ(test::text(udp, "transport"), "dnscrypt");
  EXPECT_EQ(udp["answer"].size(), 1u);
  const auto tcp = query({"example.com", stamp, "+tcp", "--construction", "xsalsa20"});
  EXPECT_EQ(test::text(tcp, "transport"), "dnscrypt-tcp");
  EXPECT_EQ(test::text(tcp, "cipher"), "X25519-XSalsa20Poly1305");
  EXPECT_EQ(tcp["answer"].size(), 1u);

  // The same by name and key, as operators print it.
  const auto provider = told("DNSCrypt provider: ");
  const auto blank = provider.find(' ');
  const auto named = query({"example.com", "@dnscrypt://127.0.0.1:5443", "--provider-name",
                            provider.substr(0, blank), "--provider-key", provider.substr(blank + 1)});
  EXPECT_EQ(named["answer"].size(), 1u);
}

TEST_F(DnscryptInterop, StampOutlivesTheServerIfTheProvidersSecretIsKept) {
  std::string stamp;
  for (int run = 0; run < 2; ++run) {
    server_ = network_.start(test::doxlab(
        {"serve", "--ip", "127.0.0.1", "--only", "dnscrypt", "--provider-secret", folder_.file("secret")}));
    ASSERT_TRUE(server_->wait_for("ready\n", test::kProgramLimit)) << server_->output() << server_->errors();
    if (run == 0) stamp = told("DNSCrypt stamp: ");
    EXPECT_EQ(query({"example.com", "@" + stamp})["answer"].size(), 1u);
    server_->signal(SIGTERM);
    EXPECT_EQ(server_->wait(test::kProgramLimit), 0) << server_->errors();
  }
  folder_.write("secret", "not a key");
  const auto bad = network_.run(test::doxlab({"serve", "--provider-secret", folder_.file("secret")}));
  EXPECT_EQ(bad.status, 2) << bad;
  EXPECT_THAT(bad.errors, HasSubstr("64 hexadecimal"));
}

TEST_F(DnscryptInterop, QueryWithoutProviderIsWrongUsage) {
  const auto finished = network_.run(test::doxlab({"query", "example.com", "@dnscrypt://127.0.0.1"}));
  EXPECT_EQ(finished.status, 2) << finished;
  EXPECT_THAT(finished.errors, HasSubstr("--provider-name"));
  const auto bad = network_.run(test::doxlab(
      {"query", "example.com", "@dnscrypt://127.0.0.1", "--provider-name", "x", "--provider-key", "12:34"}));
  EXPECT_EQ(bad.status, 2) << bad;
  EXPECT_THAT(bad.errors, HasSubstr("64 hexadecimal"));
}

}  // namespace
}  // namespace doxlab
