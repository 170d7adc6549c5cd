// `doxlab query` asks servers that others wrote: knotd, unbound, nginx and dnsdist.

#include <gmock/gmock.h>

#include "dns/message.hpp"
#include "resolver/resolver.hpp"
#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"
#include "tls/forge.hpp"
#include "transport/transport.hpp"

namespace doxlab {
namespace {

using testing::HasSubstr;

constexpr const char* kServerName = "dns.doxlab.test";

/// A network of its own with the server's files: chain.pem, key.pem, and root.pem for us.
class ForeignServers : public testing::Test {
 protected:
  ForeignServers() {
    const auto chain =
        tls::forge_chain({.dns_names = {kServerName}, .addresses = {*IpAddress::parse("127.0.0.1")}});
    folder_.write("root.pem", chain.root_pem);
    folder_.write("chain.pem", chain.chain_pem);
    folder_.write("key.pem", chain.key_pem);
  }

  /// Asks for example.com at 127.0.0.1 by its address, as JSON, with further words of the command line.
  test::Finished query(std::vector<std::string> words) const {
    words.insert(words.begin(), {"query", "--json", "--timeout", "30", "--ca", folder_.file("root.pem")});
    return network_.run(test::doxlab(words));
  }

  /// What the peer is expected to agree to.
  struct Agreed {
    const char* group = "";
    bool hello_retry_request = false, retry = false;
  };

  /// Asks with `words`, and checks what must hold of every answered lookup over the transport.
  test::Json expect_answer(std::string_view transport, const Agreed& agreed,
                           const std::vector<std::string>& words) const {
    const auto finished = query(words);
    EXPECT_EQ(finished.status, 0) << finished;
    auto json = test::parse_json(finished.output);
    EXPECT_EQ(test::text(json, "transport"), transport) << finished;
    EXPECT_EQ(test::text(json, "outcome"), "answered") << finished;
    EXPECT_EQ(test::text(json, "reason"), "");
    EXPECT_EQ(test::text(json, "qname"), words.front() + ".");

    const auto t = *parse_transport(transport);
    EXPECT_EQ(test::text(json, "group"), agreed.group) << finished;
    EXPECT_EQ(test::text(json, "alpn"), alpn(t)) << finished;
    EXPECT_EQ(test::text(json, "tls_version"), has_tls(t) ? "TLSv1.3" : "");
    EXPECT_EQ(test::number(json, "certificate_bytes"), has_tls(t) ? 3900 : 0);
    EXPECT_EQ(json["hello_retry_request"].get<bool>(), agreed.hello_retry_request) << finished;
    EXPECT_EQ(json["retry"].get<bool>(), agreed.retry) << finished;
    EXPECT_FALSE(json["resumed"].get<bool>());

    // The phases that the transport has, in their order.
    double latest = 0;
    const std::pair<const char*, bool> phases[] = {
        {"connected_ms", is_stream(t)}, {"secured_ms", has_tls(t)}, {"answered_ms", true}};
    for (const auto& [phase, expected] : phases) {
      EXPECT_EQ(json.contains(phase), expected) << phase << ": " << finished;
      if (!json.contains(phase)) continue;
      EXPECT_GT(test::number(json, phase), latest) << phase;
      latest = test::number(json, phase);
    }
    return json;
  }

  /// The same for the one record that all servers here have.
  void expect_address(std::string_view transport, const Agreed& agreed,
                      std::vector<std::string> words) const {
    SCOPED_TRACE(test::join(words));
    words.insert(words.begin(), "example.com");
    const auto json = expect_answer(transport, agreed, words);
    EXPECT_EQ(test::text(json, "rcode"), "NOERROR");
    ASSERT_EQ(json["answer"].size(), 1u);
    const auto& record = json["answer"][0];
    EXPECT_EQ(test::text(record, "name"), "example.com.");
    EXPECT_EQ(test::text(record, "type"), "A");
    EXPECT_EQ(test::number(record, "ttl"), 300);
    EXPECT_EQ(test::text(record, "rdata"), "192.0.2.1");
  }

  test::TemporaryFolder folder_;
  test::Network network_;
};

constexpr std::string_view kZone = R"($ORIGIN example.com.
$TTL 300
@     SOA   ns hostmaster 1 3600 600 864000 60
@     NS    ns
ns    A     127.0.0.1
@     A     192.0.2.1
)";

class Knot : public ForeignServers {
 protected:
  void SetUp() override {
    std::string zone(kZone);
    for (int i = 0; i < 20; ++i) zone += std::format("big TXT \"{} {}\"\n", i, std::string(200, 'x'));
    folder_.write("zone", zone);
    folder_.write("knot.conf", std::format(R"(server:
    rundir: "{0}"
    listen: [ 127.0.0.1@53 ]
    listen-tls: [ 127.0.0.1@853 ]
    listen-quic: [ 127.0.0.1@853 ]
    key-file: "{0}/key.pem"
    cert-file: "{0}/chain.pem"
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: "{0}"
log:
  - target: stderr
    any: info
zone:
  - domain: example.com
    file: "{0}/zone"
    journal-content: none
    zonefile-load: whole
    zonefile-sync: -1
)",
                                           folder_.path()));
    server_ = network_.start({"knotd", "-c", folder_.file("knot.conf")});
    ASSERT_TRUE(server_->wait_for("server started", test::kProgramLimit))
        << server_->output() << server_->errors();
  }

  std::unique_ptr<net::ChildProcess> server_;
};

// GnuTLS 3.8.9 has no ML-KEM, so the X25519 key share that we send as well saves the HelloRetryRequest.
TEST_F(Knot, AnswersOverUdpAndTcp) {
  expect_address("do53", {}, {"@udp://127.0.0.1"});
  expect_address("do53-tcp", {}, {"@tcp://127.0.0.1"});
}

TEST_F(Knot, AnswersOverTls) {
  expect_address("dot", {.group = "x25519"}, {"@tls://127.0.0.1"});
}

TEST_F(Knot, AnswersOverQuic) {
  expect_address("doq", {.group = "x25519"}, {"@quic://127.0.0.1"});
}

TEST_F(Knot, AsksAgainForTheGroupItHas) {
  const Agreed agreed = {.group = "x25519", .hello_retry_request = true};
  for (const auto& [transport, url] :
       {std::pair{"dot", "@tls://127.0.0.1"}, std::pair{"doq", "@quic://127.0.0.1"}})
    expect_address(transport, agreed, {url, "--group", "*X25519MLKEM768:X25519"});
}

TEST_F(Knot, RefusesGroupsItLacks) {
  // Over TLS this server closes without an alert, over QUIC it says nothing at all.
  const auto refused = query({"example.com", "@tls://127.0.0.1", "--group", "X25519MLKEM768"});
  EXPECT_EQ(refused.status, 1) << refused;
  const auto json = test::parse_json(refused.output);
  EXPECT_EQ(test::text(json, "outcome"), "handshake failed") << refused;
  EXPECT_THAT(test::text(json, "reason"), HasSubstr("handshake")) << refused;
  const auto silent = network_.run(test::doxlab({"query", "--json", "example.com", "@quic://127.0.0.1",
                                                 "--group", "X25519MLKEM768", "--timeout", "1"}));
  EXPECT_EQ(silent.status, 1) << silent;
  EXPECT_EQ(test::text(test::parse_json(silent.output), "outcome"), "timed out") << silent;
  EXPECT_THAT(test::text(test::parse_json(silent.output), "reason"), HasSubstr("handshake")) << silent;
}

TEST_F(Knot, LargeAnswerComesWholeOverEveryTransport) {
  const std::pair<const char*, const char*> servers[] = {{"do53", "@udp://127.0.0.1"},
                                                         {"do53-tcp", "@tcp://127.0.0.1"},
                                                         {"dot", "@tls://127.0.0.1"},
                                                         {"doq", "@quic://127.0.0.1"}};
  for (const auto& [transport, url] : servers) {
    SCOPED_TRACE(transport);
    const auto finished = query({"big.example.com", "TXT", url});
    ASSERT_EQ(finished.status, 0) << finished;
    const auto json = test::parse_json(finished.output);
    EXPECT_EQ(json["answer"].size(), 20u);
    EXPECT_GT(test::number(json, "message_bytes"), 4000);
    EXPECT_EQ(json["tcp_fallback"].get<bool>(), std::string_view(transport) == "do53");
  }
}

TEST_F(Knot, AnyRcodeIsAnAnswer) {
  const auto json = expect_answer("doq", {.group = "x25519"}, {"nowhere.example.com", "@quic://127.0.0.1"});
  EXPECT_EQ(test::text(json, "rcode"), "NXDOMAIN");
  EXPECT_EQ(json["answer"].size(), 0u);
  const auto refused = expect_answer("dot", {.group = "x25519"}, {"example.net", "@tls://127.0.0.1"});
  EXPECT_EQ(test::text(refused, "rcode"), "REFUSED");
}

TEST_F(Knot, IsNotBelievedWithoutItsRootOrUnderAnotherName) {
  folder_.write("root.pem", tls::forge_chain({}).root_pem);
  for (const auto* url : {"@tls://127.0.0.1", "@quic://127.0.0.1"}) {
    const auto refused = query({"example.com", url});
    EXPECT_EQ(refused.status, 1) << refused;
    EXPECT_EQ(test::text(test::parse_json(refused.output), "outcome"), "handshake failed") << refused;
    EXPECT_THAT(test::text(test::parse_json(refused.output), "reason"), HasSubstr("certificate")) << refused;
    expect_address(std::string_view(url).starts_with("@tls") ? "dot" : "doq", {.group = "x25519"},
                   {url, "--no-verify"});
  }
}

class Unbound : public ForeignServers {
 protected:
  void SetUp() override {
    folder_.write("unbound.conf", std::format(R"(server:
  chroot: ""
  username: ""
  directory: "{0}"
  pidfile: ""
  use-syslog: no
  logfile: ""
  do-daemonize: no
  num-threads: 1
  interface: 127.0.0.1@53
  interface: 127.0.0.1@853
  interface: 127.0.0.1@443
  tls-port: 853
  https-port: 443
  http-endpoint: "/dns-query"
  tls-service-key: "{0}/key.pem"
  tls-service-pem: "{0}/chain.pem"
  module-config: "iterator"
  local-zone: "." static
  local-zone: "example.com." static
  local-data: "example.com. 300 IN A 192.0.2.1"
remote-control:
  control-enable: no
)",
                                              folder_.path()));
    server_ = network_.start_server({"unbound", "-d", "-p", "-c", folder_.file("unbound.conf")},
                                    {53, 443, 853}, {53});
  }

  std::unique_ptr<net::ChildProcess> server_;
};

TEST_F(Unbound, AnswersOverUdpAndTcp) {
  expect_address("do53", {}, {"@udp://127.0.0.1"});
  expect_address("do53-tcp", {}, {"@tcp://127.0.0.1"});
}

TEST_F(Unbound, AnswersOverTlsWithTheHybridGroup) {
  expect_address("dot", {.group = "X25519MLKEM768"}, {"@tls://127.0.0.1"});
  expect_address("dot", {.group = "x25519"}, {"@tls://127.0.0.1", "--group", "X25519"});
}

TEST_F(Unbound, AnswersOverHttpsByPostAndGet) {
  for (const auto* method : {"--no-padding", "--get"})
    expect_address("doh", {.group = "X25519MLKEM768"}, {"@https://127.0.0.1", method});
}

TEST_F(Unbound, OtherPathFailsWithItsStatus) {
  const auto failed = query({"example.com", "@https://127.0.0.1/elsewhere"});
  EXPECT_EQ(failed.status, 1) << failed;
  EXPECT_EQ(test::text(test::parse_json(failed.output), "outcome"), "failed");
  EXPECT_THAT(test::text(test::parse_json(failed.output), "reason"), HasSubstr("404"));
}

/// nginx answers DoH over HTTP/2 and HTTP/3 with the same octets, whatever is asked.
class Nginx : public ForeignServers {
 protected:
  void start(std::string_view settings = {}) {
    // DoH clients send ID 0 (RFC 8484 §4.1), so one answer fits them all.
    const auto answer = resolver::Resolver(resolver::Zone::built_in())
                            .answer(*dns::compose_query("example.com", 1), {.encrypted = true});
    folder_.write("answer", as_text(answer));
    folder_.write("nginx.conf", std::format(R"(worker_processes 1;
daemon off;
user root;
pid nginx.pid;
error_log stderr warn;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  types {{ }}
  default_type application/dns-message;
  server {{
    listen 127.0.0.1:443 ssl;
    listen 127.0.0.1:443 quic;
    http2 on;
    http3 on;
    {1}
    server_name {2};
    ssl_certificate chain.pem;
    ssl_certificate_key key.pem;
    ssl_protocols TLSv1.3;
    root "{0}";
    # A file answers GET alone; the redirect inside makes it answer POST too.
    location = /dns-query {{ error_page 405 =200 /answer; try_files /answer =404; }}
    location = /page {{ default_type text/html; try_files /answer =404; }}
  }}
}}
)",
                                            folder_.path(), settings, kServerName));
    server_ = network_.start_server(
        {"nginx", "-p", folder_.path(), "-c", folder_.file("nginx.conf"), "-e", "stderr"}, {443}, {443});
  }

  std::unique_ptr<net::ChildProcess> server_;
};

TEST_F(Nginx, AnswersOverHttp2AndHttp3ByPostAndGet) {
  start();
  for (const auto& [transport, url] :
       {std::pair{"doh", "@https://127.0.0.1"}, std::pair{"doh3", "@h3://127.0.0.1"}}) {
    expect_address(transport, {.group = "X25519MLKEM768"}, {url});
    expect_address(transport, {.group = "X25519MLKEM768"}, {url, "--get"});
  }
}

TEST_F(Nginx, IsFoundByNameAtAGivenAddress) {
  start();
  expect_address("doh3", {.group = "X25519MLKEM768"},
                 {std::format("@h3://{}/dns-query", kServerName), "--ip", "127.0.0.1"});
}

TEST_F(Nginx, AsksForAddressValidationByRetry) {
  start("quic_retry on;");
  expect_address("doh3", {.group = "X25519MLKEM768", .retry = true}, {"@h3://127.0.0.1"});
}

TEST_F(Nginx, AsksAgainForTheGroupItHas) {
  start("ssl_ecdh_curve prime256v1;");
  const Agreed agreed = {.group = "secp256r1", .hello_retry_request = true};
  expect_address("doh", agreed, {"@https://127.0.0.1"});
  expect_address("doh3", agreed, {"@h3://127.0.0.1"});
}

TEST_F(Nginx, StatusAndMediaTypeAreChecked) {
  start();
  for (const auto* scheme : {"@https", "@h3"}) {
    const auto missing = query({"example.com", std::string(scheme) + "://127.0.0.1/elsewhere"});
    EXPECT_EQ(missing.status, 1) << missing;
    EXPECT_THAT(test::text(test::parse_json(missing.output), "reason"), HasSubstr("404"));
    const auto page = query({"example.com", std::string(scheme) + "://127.0.0.1/page", "--get"});
    EXPECT_EQ(page.status, 1) << page;
    EXPECT_THAT(test::text(test::parse_json(page.output), "reason"), HasSubstr("application/dns-message"));
  }
}

TEST_F(Nginx, AnswerToAnotherQuestionIsNotTaken) {
  start();
  for (const auto* url : {"@https://127.0.0.1", "@h3://127.0.0.1"}) {
    const auto other = query({"example.net", url});
    EXPECT_EQ(other.status, 1) << other;
    EXPECT_EQ(test::text(test::parse_json(other.output), "outcome"), "failed") << other;
  }
}

class Dnsdist : public ForeignServers {
 protected:
  void SetUp() override {
    // It answers by itself, so that it needs no other server; and it must not look outside for its updates.
    folder_.write("dnsdist.lua", std::format(R"(setSecurityPollSuffix("")
setLocal("127.0.0.1:53")
addTLSLocal("127.0.0.1:853", "{0}/chain.pem", "{0}/key.pem", {{provider="openssl", minTLSVersion="tls1.3"}})
addDOHLocal("127.0.0.1:443", "{0}/chain.pem", "{0}/key.pem", "/dns-query", {{minTLSVersion="tls1.3"}})
addAction("example.com.", SpoofAction("192.0.2.1", {{ttl=300}}))
)",
                                             folder_.path()));
    server_ = network_.start_server(
        {"dnsdist", "--supervised", "--disable-syslog", "-C", folder_.file("dnsdist.lua")}, {53, 443, 853},
        {53});
  }

  std::unique_ptr<net::ChildProcess> server_;
};

TEST_F(Dnsdist, AnswersOverEveryTransportOfItsBuild) {
  expect_address("do53", {}, {"@udp://127.0.0.1"});
  expect_address("do53-tcp", {}, {"@tcp://127.0.0.1"});
  expect_address("dot", {.group = "X25519MLKEM768"}, {"@tls://127.0.0.1"});
  expect_address("doh", {.group = "X25519MLKEM768"}, {"@https://127.0.0.1"});
  expect_address("doh", {.group = "X25519MLKEM768"}, {"@https://127.0.0.1", "--get"});
}

}  // namespace
}  // namespace doxlab
