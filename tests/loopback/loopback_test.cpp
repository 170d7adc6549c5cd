// Every transport over real sockets on loopback: our client against our server, and both against
// endpoints that misbehave.

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/udp.hpp>
#include <asio/post.hpp>
#include <asio/write.hpp>
#include <future>
#include <random>
#include <thread>

#include "client/lookup.hpp"
#include "dns/message.hpp"
#include "dnscrypt/certificate.hpp"
#include "io/unix_clock.hpp"
#include "dns/scan.hpp"
#include "server/server.hpp"
#include "shared_port.hpp"
#include "tls/forge.hpp"

namespace doxlab {
namespace {

const IpAddress kLoopback = IpAddress::v4({127, 0, 0, 1});

const tls::Chain& chain() {
  static const auto forged = tls::forge_chain({.addresses = {kLoopback}});
  return forged;
}

/// One provider for all tests, with certificates of both constructions.
std::shared_ptr<dnscrypt::ResolverKeys> provider() {
  static const auto keys = std::make_shared<dnscrypt::ResolverKeys>(
      server::kDefaultProviderName, dnscrypt::ProviderKey::generate(), dnscrypt::ResolverKeyOptions{},
      io::unix_clock_now().seconds);
  return keys;
}

/// A server in a thread of its own; every transport at a port of the kernel's choice.
class Running {
 public:
  explicit Running(server::ServerOptions options = {}) : io_(1) {
    options.tls.chain_pem = chain().chain_pem;
    options.tls.key_pem = chain().key_pem;
    if (!options.dnscrypt_keys) options.dnscrypt_keys = provider();
    server_ = listen_with_shared_ports(io_, options, [](server::Server& server) {
      for (auto t : kAllTransports) {
        if (t == Transport::Do53Tcp || t == Transport::DnscryptTcp) continue;
        server.listen(t, {kLoopback, 0});
        // UDP and TCP share a port number where truncation needs it.
        if (const auto over_tcp = tcp_fallback(t)) server.listen(*over_tcp, server.bound().back().address);
      }
    });
    thread_ = std::jthread([this] { io_.run(); });
  }
  ~Running() {
    asio::post(io_, [this] { server_->close(50ms); });
    thread_.join();
  }
  SocketAddress at(Transport t) const {
    for (const auto& bound : server_->bound())
      if (bound.transport == t) return bound.address;
    return {};
  }

 private:
  asio::io_context io_;
  std::unique_ptr<server::Server> server_;
  std::jthread thread_;
};

client::LookupOptions options_for(Transport t, const SocketAddress& server, tls::ClientOptions tls = {}) {
  client::LookupOptions out;
  out.transport = t;
  out.server = server;
  out.timeout = 20s;
  out.linger = 20ms;
  out.session.server_name = "dns.doxlab.test";
  if (is_dnscrypt(t)) {
    out.session.dnscrypt.provider_name = provider()->provider_name();
    out.session.dnscrypt.provider_key = provider()->provider_key();
    out.session.dnscrypt.clock = io::unix_clock_now();
  }
  if (has_tls(t)) {
    if (tls.roots_pem.empty()) tls.roots_pem = chain().root_pem;
    out.session.tls = std::make_shared<const tls::ClientContext>(std::move(tls));
  }
  return out;
}

Bytes query(std::string_view name, std::uint16_t type = 1) {
  return dns::compose_query(name, type, {.id = 0x4242, .udp_payload_size = 1232}).value();
}

class OverTransports : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(All, OverTransports, testing::ValuesIn(kAllTransports), [](const auto& param) {
  std::string name(to_string(param.param));
  std::erase(name, '-');
  return name;
});

TEST_P(OverTransports, AnswersWithTheIdThatWasAsked) {
  const Running server;
  const auto result = client::lookup(options_for(GetParam(), server.at(GetParam())), query("example.com"));
  ASSERT_EQ(result.outcome, client::Outcome::Answered) << result.reason;
  const auto message = dns::parse_message(result.response);
  ASSERT_TRUE(message) << message.error().message;
  EXPECT_EQ(message->id, 0x4242);
  EXPECT_EQ(message->rcode, 0);
  ASSERT_FALSE(message->answer.empty());
  EXPECT_EQ(message->answer.front().type, 1);
  EXPECT_EQ(result.handshake.has_value(), is_encrypted(GetParam()));
  EXPECT_EQ(result.connected.has_value(), is_stream(GetParam()));
  if (is_dnscrypt(GetParam())) {
    EXPECT_EQ(result.handshake->version, "DNSCrypt v2");
    EXPECT_EQ(result.handshake->cipher, "X25519-XChaCha20Poly1305");
    EXPECT_FALSE(result.handshake->resumed);
    EXPECT_EQ(result.handshake->peer_certificate_bytes, dnscrypt::kCertificateOctets);
  } else if (result.handshake) {
    EXPECT_EQ(result.handshake->version, "TLSv1.3");
    EXPECT_EQ(result.handshake->group, "X25519MLKEM768");
    EXPECT_EQ(result.handshake->alpn, alpn(GetParam()));
    EXPECT_FALSE(result.handshake->resumed);
    EXPECT_EQ(result.handshake->peer_certificate_bytes, 3900u);
  }
}

TEST_P(OverTransports, LargeAnswerArrivesWhole) {
  // Above what UDP takes, below what DNSCrypt takes over TCP (4,095 octets with everything).
  std::string zone = "example.org. 60 IN SOA ns.example.org. host.example.org. 1 60 60 60 60\nlarge.example.org. 60 IN TXT";
  for (int k = 0; k < 15; ++k) zone += " " + std::string(200, static_cast<char>('a' + k));
  server::ServerOptions serving;
  serving.zone = resolver::Zone::parse(zone).value();
  const Running server(serving);
  const auto result = client::lookup(options_for(GetParam(), server.at(GetParam())), query("large.example.org", 16));
  ASSERT_EQ(result.outcome, client::Outcome::Answered) << result.reason;
  EXPECT_GT(result.response.size(), 3000u);
  EXPECT_EQ(result.used_tcp_fallback, tcp_fallback(GetParam()).has_value());
  EXPECT_TRUE(dns::parse_message(result.response));
}

TEST_P(OverTransports, ClosedPortIsRefusedAtOnce) {
  // A port that was just free: bind, note it, close it.
  asio::io_context io;
  std::uint16_t port = 0;
  if (is_stream(GetParam())) port = asio::ip::tcp::acceptor(io, {asio::ip::make_address("127.0.0.1"), 0}).local_endpoint().port();
  else port = asio::ip::udp::socket(io, {asio::ip::make_address("127.0.0.1"), 0}).local_endpoint().port();
  const auto result = client::lookup(options_for(GetParam(), {kLoopback, port}), query("example.com"));
  EXPECT_EQ(result.outcome, client::Outcome::Refused) << result.reason;
  EXPECT_FALSE(result.reason.empty());
}

TEST_P(OverTransports, SilentServerTimesOutWithWhatWasMissing) {
  asio::io_context io;
  const auto here = asio::ip::make_address("127.0.0.1");
  asio::ip::tcp::acceptor acceptor(io, {here, 0});
  asio::ip::udp::socket socket(io, {here, 0});
  const auto port = is_stream(GetParam()) ? acceptor.local_endpoint().port() : socket.local_endpoint().port();
  auto options = options_for(GetParam(), {kLoopback, port});
  options.timeout = 300ms;
  const auto result = client::lookup(options, query("example.com"));
  EXPECT_EQ(result.outcome, client::Outcome::TimedOut);
  const char* missing = has_tls(GetParam()) ? "handshake" : is_dnscrypt(GetParam()) ? "certificate" : "no answer";
  EXPECT_NE(result.reason.find(missing), std::string::npos) << result.reason;
}

TEST_P(OverTransports, WrongNameFailsTheHandshakeAndSaysSo) {
  if (!has_tls(GetParam())) {
    // Without TLS there is no such name to verify: the same lookup must simply work.
    const Running server;
    auto options = options_for(GetParam(), server.at(GetParam()));
    options.session.server_name = "other.test";
    EXPECT_EQ(client::lookup(options, query("example.com")).outcome, client::Outcome::Answered);
    return;
  }
  const Running server;
  auto options = options_for(GetParam(), server.at(GetParam()));
  options.session.server_name = "other.test";
  const auto result = client::lookup(options, query("example.com"));
  EXPECT_EQ(result.outcome, client::Outcome::HandshakeFailed);
  EXPECT_NE(result.reason.find("other.test"), std::string::npos) << result.reason;
  // Without verification, explicitly, it is answered.
  auto blind = options_for(GetParam(), server.at(GetParam()), {.verify = false});
  blind.session.server_name = "other.test";
  EXPECT_EQ(client::lookup(blind, query("example.com")).outcome, client::Outcome::Answered);
}

TEST_P(OverTransports, GarbageDoesNotStopTheServer) {
  const Running server;
  const auto seed = std::random_device{}();
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937 random(seed);
  asio::io_context io;
  const auto address = server.at(GetParam());
  for (int round = 0; round < 40; ++round) {
    Bytes junk(random() % 2000 + 1);
    for (auto& octet : junk) octet = static_cast<std::uint8_t>(random());
    std::error_code ignored;
    if (is_stream(GetParam())) {
      asio::ip::tcp::socket socket(io);
      socket.connect({asio::ip::make_address("127.0.0.1"), address.port}, ignored);
      asio::write(socket, asio::buffer(junk), ignored);
    } else {
      asio::ip::udp::socket socket(io, asio::ip::udp::v4());
      socket.send_to(asio::buffer(junk), {asio::ip::make_address("127.0.0.1"), address.port}, 0, ignored);
    }
  }
  const auto result = client::lookup(options_for(GetParam(), address), query("example.com"));
  EXPECT_EQ(result.outcome, client::Outcome::Answered) << result.reason << " (seed " << seed << ")";
}

TEST_P(OverTransports, MalformedQuestionIsAFormatError) {
  const Running server;
  auto malformed = query("example.com");
  malformed.resize(dns::kHeaderOctets + 5);  // the name ends in the middle of a label
  auto options = options_for(GetParam(), server.at(GetParam()));
  if (is_dnscrypt(GetParam())) options.timeout = 500ms;
  const auto result = client::lookup(options, malformed);
  if (is_dnscrypt(GetParam())) {
    // What cannot be parsed is ignored (draft-denis-dprive-dnscrypt-11 §5.4.6).
    EXPECT_NE(result.outcome, client::Outcome::Answered);
  } else {
    ASSERT_EQ(result.outcome, client::Outcome::Answered) << result.reason;
    const auto header = dns::read_header(result.response);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->rcode(), dns::kFormErr);
  }
  EXPECT_EQ(client::lookup(options_for(GetParam(), server.at(GetParam())), query("example.com")).outcome,
            client::Outcome::Answered);
}

TEST_P(OverTransports, AResponseIsNotAnswered) {
  const Running server;
  auto response = query("example.com");
  response[2] |= 0x80;  // QR
  auto options = options_for(GetParam(), server.at(GetParam()));
  options.timeout = 1s;
  const auto result = client::lookup(options, response);
  EXPECT_NE(result.outcome, client::Outcome::Answered);
  EXPECT_FALSE(result.reason.empty());
  EXPECT_EQ(client::lookup(options_for(GetParam(), server.at(GetParam())), query("example.com")).outcome,
            client::Outcome::Answered);
}

TEST_P(OverTransports, LargestQueryIsHandledOrRefusedByTheSender) {
  const Running server;
  Bytes largest = query("example.com");
  largest.resize(65535);  // octets behind the message: a format error, once it has arrived
  auto options = options_for(GetParam(), server.at(GetParam()));
  options.timeout = 5s;
  const auto result = client::lookup(options, largest);
  if (GetParam() == Transport::Do53) {
    EXPECT_EQ(result.outcome, client::Outcome::Failed) << result.reason;  // no UDP datagram is that long
  } else if (is_dnscrypt(GetParam())) {
    EXPECT_NE(result.outcome, client::Outcome::Answered);  // an encrypted query has 4,096 octets at most
    EXPECT_NE(result.reason.find("too long"), std::string::npos) << result.reason;
  } else {
    ASSERT_EQ(result.outcome, client::Outcome::Answered) << result.reason;
    EXPECT_EQ(dns::read_header(result.response)->rcode(), dns::kFormErr);
  }
  largest.push_back(0);
  const auto too_large = client::lookup(options, largest);
  EXPECT_NE(too_large.outcome, client::Outcome::Answered);
  EXPECT_NE(too_large.outcome, client::Outcome::TimedOut) << too_large.reason;
  EXPECT_FALSE(too_large.reason.empty());
  EXPECT_EQ(client::lookup(options_for(GetParam(), server.at(GetParam())), query("example.com")).outcome,
            client::Outcome::Answered);
}

TEST(Loopback, UntrustedRootIsRefused) {
  const Running server;
  const auto other = tls::forge_chain({});
  for (auto t : {Transport::Dot, Transport::Doh, Transport::Doh3, Transport::Doq}) {
    const auto result = client::lookup(options_for(t, server.at(t), {.roots_pem = other.root_pem}), query("example.com"));
    EXPECT_EQ(result.outcome, client::Outcome::HandshakeFailed) << display_name(t);
    EXPECT_NE(result.reason.find("certificate"), std::string::npos) << result.reason;
  }
}

TEST(Loopback, WrongAlpnIsRefused) {
  const Running server;
  // A DoT client at the DoH port and the other way round; likewise DoQ and DoH3.
  for (const auto& [client_speaks, port_of] : {std::pair{Transport::Dot, Transport::Doh}, std::pair{Transport::Doh, Transport::Dot},
                                               std::pair{Transport::Doq, Transport::Doh3}, std::pair{Transport::Doh3, Transport::Doq}}) {
    const auto result = client::lookup(options_for(client_speaks, server.at(port_of)), query("example.com"));
    EXPECT_EQ(result.outcome, client::Outcome::HandshakeFailed) << display_name(client_speaks);
    EXPECT_NE(result.reason.find("no_application_protocol"), std::string::npos) << result.reason;
  }
}

TEST(Loopback, DohGetAndPostAndBadPath) {
  const Running server;
  for (auto t : {Transport::Doh, Transport::Doh3}) {
    auto options = options_for(t, server.at(t));
    options.session.method = transport::HttpMethod::Get;
    EXPECT_EQ(client::lookup(options, query("example.com")).outcome, client::Outcome::Answered) << display_name(t);
    options.session.doh_path = "/elsewhere";
    const auto missing = client::lookup(options, query("example.com"));
    EXPECT_EQ(missing.outcome, client::Outcome::Failed);
    EXPECT_NE(missing.reason.find("404"), std::string::npos) << missing.reason;
  }
}

TEST(Loopback, APortThatIsTakenSaysSoOverUdpAndTcp) {
  const Running server;
  asio::io_context io;
  for (const auto transport : {Transport::Do53, Transport::Do53Tcp}) {
    server::Server second(io, {.transports = {transport}});
    try {
      second.listen(transport, server.at(transport));
      ADD_FAILURE() << to_string(transport) << " listens where another does";
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), std::errc::address_in_use) << error.what();
      EXPECT_NE(std::string(error.what()).find(server.at(transport).to_string()), std::string::npos) << error.what();
    }
  }
}

TEST(Loopback, APortThatIsTakenOverTcpIsGivenUpForAnother) {
  asio::io_context io, other;
  asio::ip::tcp::acceptor taken(other, {asio::ip::make_address("127.0.0.1"), 0});
  const SocketAddress address{kLoopback, taken.local_endpoint().port()};
  int attempts = 0;
  const auto server = listen_with_shared_ports(io, {.transports = {Transport::Do53Tcp}}, [&](server::Server& it) {
    it.listen(Transport::Do53Tcp, ++attempts == 1 ? address : SocketAddress{kLoopback, 0});
  });
  EXPECT_EQ(attempts, 2);
  EXPECT_NE(server->bound().front().address.port, address.port);
}

TEST(Loopback, RetryAndHelloRetryRequestAreReported) {
  server::ServerOptions options;
  options.doq_retry = quic::RetryPolicy::Always;
  options.tls.groups = "secp256r1";
  const Running server(options);
  const auto doq = client::lookup(options_for(Transport::Doq, server.at(Transport::Doq)), query("example.com"));
  ASSERT_EQ(doq.outcome, client::Outcome::Answered) << doq.reason;
  EXPECT_TRUE(doq.quic_retry);
  EXPECT_TRUE(doq.handshake->hello_retry_request);
  const auto dot = client::lookup(options_for(Transport::Dot, server.at(Transport::Dot)), query("example.com"));
  ASSERT_EQ(dot.outcome, client::Outcome::Answered) << dot.reason;
  EXPECT_TRUE(dot.handshake->hello_retry_request);
  EXPECT_EQ(dot.handshake->group, "secp256r1");
}

}  // namespace
}  // namespace doxlab
