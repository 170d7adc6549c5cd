// `doxlab serve`, asked by programs that others wrote: kdig, curl and openssl.

#include <gmock/gmock.h>

#include "dns/message.hpp"
#include "http/doh.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kName = "dns.doxlab.test";
constexpr const char* kMediaType = "application/dns-message";

/// The resolver at its usual ports of 127.0.0.1 and ::1, in a network of its own.
class ForeignClients : public testing::Test {
 protected:
  void serve(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(),
                     {"serve", "--ip", "127.0.0.1", "--ip", "::1", "--write-root", folder_.file("root.pem")});
    server_ = network_.start(test::doxlab(arguments));
    ASSERT_TRUE(server_->wait_for("ready\n", test::kProgramLimit)) << server_->output() << server_->errors();
  }

  /// However it was asked, the server is still there, has complained of nothing, and ends in an orderly way.
  void TearDown() override {
    ASSERT_TRUE(server_);
    EXPECT_FALSE(server_->wait(0s)) << "the server ended by itself\n" << server_->errors();
    server_->signal(SIGTERM);
    EXPECT_EQ(server_->wait(test::kProgramLimit), 0) << server_->errors();
    EXPECT_EQ(server_->errors(), "");
  }

  /// kdig asks with `transport` options, then `arguments`. Naming a root or a host name would turn TLS on.
  test::Finished kdig(const std::vector<std::string>& transport, const std::vector<std::string>& arguments,
                      const std::string& server = "@127.0.0.1", const std::string& name = kName) const {
    test::Command command = {"kdig", server, "+retry=0", "+timeout=20"};
    if (!transport.empty() && transport.front() != "+tcp")
      command.insert(command.end(), {"+tls-ca=" + folder_.file("root.pem"), "+tls-hostname=" + name});
    command.insert(command.end(), transport.begin(), transport.end());
    command.insert(command.end(), arguments.begin(), arguments.end());
    return network_.run(command);
  }

  /// What curl is told in every case; the body of the response goes to the file "body".
  test::Finished curl(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     {"curl", "--silent", "--show-error", "--max-time", "30", "--cacert",
                      folder_.file("root.pem"), "--output", folder_.file("body"), "--write-out",
                      "%{http_version} %{response_code} %{content_type} %{ssl_verify_result}"});
    return network_.run(arguments);
  }

  std::string write_query(std::string_view name, std::uint16_t type = 1) const {
    return folder_.write("query", as_text(*dns::compose_query(name, type)));
  }

  /// The answer that curl got.
  dns::Message body() const { return dns::parse_message(as_bytes(folder_.read("body"))).value(); }

  test::TemporaryFolder folder_;
  test::Network network_;
  std::unique_ptr<net::ChildProcess> server_;
};

/// One way in which kdig asks, and what it says of the session.
struct KdigCase {
  const char* name;
  std::vector<std::string> options;
  const char* from;          ///< the last line: address, port, transport
  const char* session = "";  ///< an extended regular expression
};

std::ostream& operator<<(std::ostream& out, const KdigCase& kdig) {
  return out << kdig.name;
}

class Kdig : public ForeignClients, public testing::WithParamInterface<KdigCase> {};
INSTANTIATE_TEST_SUITE_P(
    All, Kdig,
    testing::Values(
        KdigCase{"Udp", {}, "127.0.0.1@53(UDP)"}, KdigCase{"Tcp", {"+tcp"}, "127.0.0.1@53(TCP)"},
        KdigCase{"Tls", {"+tls"}, "127.0.0.1@853(TLS)", "TLS session \\(TLS1.3\\)-\\(ECDHE-"},
        KdigCase{"HttpsPost",
                 {"+https"},
                 "127.0.0.1@443(HTTPS)",
                 "HTTP session \\(HTTP/2-POST\\)-\\(dns.doxlab.test/dns-query\\)-\\(status: 200\\)"},
        KdigCase{"HttpsGet",
                 {"+https-get"},
                 "127.0.0.1@443(HTTPS)",
                 "HTTP session \\(HTTP/2-GET\\)-\\(dns.doxlab.test/dns-query\\)-\\(status: 200\\)"},
        KdigCase{
            "Quic", {"+quic"}, "127.0.0.1@853(QUIC)", "QUIC session \\(QUICv1\\)-\\(TLS1.3\\)-\\(ECDHE-"}),
    [](const auto& param) { return std::string(param.param.name); });

TEST_P(Kdig, IsAnsweredFromTheZone) {
  serve();
  const auto answer = kdig(GetParam().options, {"example.com", "A"});
  ASSERT_EQ(answer.status, 0) << answer;
  EXPECT_THAT(answer.output, HasSubstr("status: NOERROR"));
  EXPECT_THAT(answer.output, ContainsRegex("Flags: qr aa rd; QUERY: 1; ANSWER: 1"));
  EXPECT_THAT(answer.output,
              ContainsRegex(
                  "example\\.com\\.[[:space:]]+300[[:space:]]+IN[[:space:]]+A[[:space:]]+192\\.0\\.2\\.1\n"));
  EXPECT_THAT(answer.output, HasSubstr(GetParam().from));
  EXPECT_THAT(answer.output, ContainsRegex(GetParam().session));
  // kdig pads its encrypted queries, so those answers are padded to 468 octets, and no others (RFC 8467).
  EXPECT_THAT(answer.output, HasSubstr(*GetParam().session != '\0' ? "Received 468 B" : "Received 56 B"));
}

TEST_P(Kdig, GetsLargeAndNegativeAnswers) {
  serve();
  const auto large = kdig(GetParam().options, {"big.example.com", "TXT"});
  ASSERT_EQ(large.status, 0) << large;
  EXPECT_THAT(large.output, HasSubstr("ANSWER: 16;"));
  EXPECT_THAT(large.output, HasSubstr("\"big record 16 of 16 "));
  // Over UDP the answer is truncated, and kdig asks again over TCP.
  EXPECT_EQ(large.output.contains("truncated reply") || large.errors.contains("truncated reply"),
            GetParam().options.empty())
      << large;

  const auto negative = kdig(GetParam().options, {"nowhere.example.com", "AAAA"});
  ASSERT_EQ(negative.status, 0) << negative;
  EXPECT_THAT(negative.output, HasSubstr("status: NXDOMAIN"));
  EXPECT_THAT(negative.output, ContainsRegex("AUTHORITY SECTION:\nexample\\.com\\..*SOA"));
}

TEST_P(Kdig, AsksSeveralTimesOverOneConnection) {
  serve();
  const auto answer = kdig(GetParam().options, {"+keepopen", "+short", "small.example.com", "A",
                                                "a.wild.example.com", "A", "example.com", "AAAA"});
  ASSERT_EQ(answer.status, 0) << answer;
  EXPECT_EQ(answer.output, "192.0.2.10\n192.0.2.99\n2001:db8::1\n") << answer;
}

TEST_F(ForeignClients, KdigRefusesTheNameThatIsNotInTheCertificate) {
  serve();
  for (const auto* transport : {"+tls", "+https", "+quic"}) {
    const auto refused = kdig({transport}, {"example.com"}, "@127.0.0.1", "other.test");
    EXPECT_NE(refused.status, 0) << refused;
    EXPECT_THAT(refused.output, Not(HasSubstr("192.0.2.1"))) << refused;
  }
}

TEST_P(Kdig, IsServedOverIpv6) {
  serve();
  const auto answer = kdig(GetParam().options, {"example.com", "AAAA"}, "@::1");
  ASSERT_EQ(answer.status, 0) << answer;
  EXPECT_THAT(answer.output, HasSubstr("2001:db8::1\n"));
  EXPECT_THAT(answer.output, HasSubstr("From ::1@"));
}

TEST_F(ForeignClients, KdigGoesThroughRetry) {
  serve({"--retry", "always"});
  const auto answer = kdig({"+quic"}, {"+short", "example.com", "A"});
  EXPECT_EQ(answer.status, 0) << answer;
  EXPECT_EQ(answer.output, "192.0.2.1\n") << answer;
}

/// The versions of HTTP as curl names them, and as it reports them.
struct HttpVersion {
  const char* option;
  const char* reported;
};

std::ostream& operator<<(std::ostream& out, const HttpVersion& version) {
  return out << "Http" << version.reported;
}

class Curl : public ForeignClients, public testing::WithParamInterface<HttpVersion> {};
INSTANTIATE_TEST_SUITE_P(All, Curl,
                         testing::Values(HttpVersion{"--http2", "2"}, HttpVersion{"--http3-only", "3"}),
                         [](const auto& param) { return std::string("Http") + param.param.reported; });

TEST_P(Curl, PostIsAnswered) {
  serve();
  const auto query = write_query("example.com");
  const auto answer = curl({GetParam().option, "--header", std::string("content-type: ") + kMediaType,
                            "--header", std::string("accept: ") + kMediaType, "--data-binary", "@" + query,
                            "https://localhost/dns-query"});
  ASSERT_EQ(answer.status, 0) << answer;
  EXPECT_EQ(answer.output, std::string(GetParam().reported) + " 200 application/dns-message 0") << answer;
  const auto message = body();
  ASSERT_EQ(message.answer.size(), 1u);
  EXPECT_EQ(message.answer.front().rdata, "192.0.2.1");
}

TEST_P(Curl, GetIsAnsweredAndMayBeCachedAsLongAsTheRecordLives) {
  serve();
  const auto query = http::base64url_encode(*dns::compose_query("example.com", 28));
  const auto answer = curl({GetParam().option, "--dump-header", folder_.file("headers"),
                            "https://localhost/dns-query?dns=" + query});
  ASSERT_EQ(answer.status, 0) << answer;
  EXPECT_EQ(answer.output, std::string(GetParam().reported) + " 200 application/dns-message 0") << answer;
  EXPECT_THAT(folder_.read("headers"), HasSubstr("cache-control: max-age=300"));
  const auto message = body();
  ASSERT_EQ(message.answer.size(), 1u);
  EXPECT_EQ(message.answer.front().rdata, "2001:db8::1");
}

TEST_P(Curl, FaultyRequestsGetTheStatusTheyDeserve) {
  serve();
  struct Fault {
    std::vector<std::string> arguments;
    const char* status;
  };
  const auto query = write_query("example.com");
  const std::string url = "https://localhost/dns-query";
  const std::string type = std::string("content-type: ") + kMediaType;
  const std::vector<Fault> faults = {
      {{url}, "400"},
      {{url + "?dns=!!"}, "400"},
      {{"https://localhost/elsewhere"}, "404"},
      {{"--request", "DELETE", url}, "405"},
      {{"--header", "content-type: text/plain", "--data-binary", "@" + query, url}, "415"},
      {{"--header", type, "--data-binary", std::string(70000, 'x'), url}, "413"},
      {{url + "?dns=" + std::string(9000, 'A')}, "414"},
  };
  for (const auto& [arguments, status] : faults) {
    auto all = arguments;
    all.insert(all.begin(), GetParam().option);
    const auto answer = curl(all);
    EXPECT_EQ(answer.status, 0) << answer;
    EXPECT_THAT(answer.output, testing::StartsWith(std::string(GetParam().reported) + " " + status))
        << answer;
  }
}

TEST_P(Curl, RefusesTheServerWithoutItsRoot) {
  serve();
  const auto refused = network_.run({"curl", "--silent", "--show-error", "--max-time", "30",
                                     GetParam().option, "https://localhost/dns-query"});
  EXPECT_EQ(refused.status, 60) << refused;
}

TEST_F(ForeignClients, CurlFindsAHostThroughDohUrl) {
  // The name resolves, by DoH alone, to the resolver itself; so the page that curl asks for is an answer too.
  const auto zone = folder_.write(
      "zone",
      "$ORIGIN doxlab.test.\n$TTL 60\n@ SOA ns hostmaster 1 3600 600 864000 60\n@ NS ns\nns A 127.0.0.1\n"
      "web A 127.0.0.1\nweb TXT \"found\"\n");
  serve({"--zone", zone, "--name", "web.doxlab.test"});
  const auto query = http::base64url_encode(*dns::compose_query("web.doxlab.test", 16));
  const auto answer =
      curl({"--doh-url", "https://127.0.0.1/dns-query", "https://web.doxlab.test/dns-query?dns=" + query});
  ASSERT_EQ(answer.status, 0) << answer;
  EXPECT_EQ(answer.output, "2 200 application/dns-message 0");
  ASSERT_EQ(body().answer.size(), 1u);
  EXPECT_EQ(body().answer.front().rdata, "\"found\"");
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t out = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++out;
  return out;
}

class SClient : public ForeignClients {
 protected:
  test::Finished s_client(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     {"openssl", "s_client", "-CAfile", folder_.file("root.pem"), "-verify_return_error",
                      "-servername", kName, "-verify_hostname", kName});
    return network_.run(arguments);
  }
};

TEST_F(SClient, VerifiesTheChainAndGetsTheHybridGroup) {
  serve();
  const auto dot = s_client({"-connect", "127.0.0.1:853", "-alpn", "dot"});
  ASSERT_EQ(dot.status, 0) << dot;
  for (const auto* line : {"Verification: OK", "Verified peername: dns.doxlab.test", "ALPN protocol: dot",
                           "New, TLSv1.3, Cipher is ", "Negotiated TLS1.3 group: X25519MLKEM768"})
    EXPECT_THAT(dot.output, HasSubstr(line)) << dot;
  const auto doh = s_client({"-connect", "[::1]:443", "-alpn", "h2"});
  ASSERT_EQ(doh.status, 0) << doh;
  EXPECT_THAT(doh.output, HasSubstr("ALPN protocol: h2"));
}

TEST_F(SClient, GetsTheGroupItAsksForAlsoAfterHelloRetryRequest) {
  serve({"--server-group", "X25519,secp256r1"});
  const auto direct = s_client({"-connect", "127.0.0.1:853", "-groups", "X25519"});
  EXPECT_THAT(direct.output, HasSubstr("Peer Temp Key: X25519,")) << direct;
  const auto after_retry =
      s_client({"-connect", "127.0.0.1:853", "-trace", "-groups", "*secp384r1:secp256r1"});
  EXPECT_THAT(after_retry.output, HasSubstr("Peer Temp Key: ECDH, prime256v1")) << after_retry;
  EXPECT_EQ(count(after_retry.output, "ClientHello, Length="), 2u) << after_retry;
}

TEST_F(SClient, IsRefusedWithoutACommonVersionGroupOrProtocol) {
  serve();
  EXPECT_NE(s_client({"-connect", "127.0.0.1:853", "-tls1_2"}).status, 0);
  EXPECT_NE(s_client({"-connect", "127.0.0.1:853", "-groups", "secp521r1"}).status, 0);
  const auto no_protocol = s_client({"-connect", "127.0.0.1:443", "-alpn", "http/1.1"});
  EXPECT_NE(no_protocol.status, 0);
  EXPECT_THAT(no_protocol.errors, HasSubstr("no application protocol")) << no_protocol;
}

TEST_F(SClient, ResumesWithTheTicketOfTheFirstConnection) {
  serve();
  // With an empty input s_client may end before a ticket comes; -ign_eof lets it stay until it has written
  // one.
  const auto session = folder_.write("session", "");
  auto first = network_.start({"openssl", "s_client", "-CAfile", folder_.file("root.pem"), "-connect",
                               "127.0.0.1:853", "-servername", kName, "-ign_eof", "-sess_out", session});
  for (const auto end = monotonic_now() + test::kProgramLimit;
       !folder_.read("session").contains("-----END");) {
    ASSERT_LT(monotonic_now(), end) << first->errors();
    ASSERT_FALSE(first->wait(20ms)) << first->errors();
  }
  first.reset();
  const auto again = s_client({"-connect", "127.0.0.1:853", "-sess_in", session});
  EXPECT_EQ(again.status, 0) << again;
  EXPECT_THAT(again.output, HasSubstr("Reused, TLSv1.3")) << again;
}

}  // namespace
}  // namespace doxlab
