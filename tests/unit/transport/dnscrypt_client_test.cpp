#include "transport/dnscrypt/dnscrypt.hpp"
#include "unit/transport/dnscrypt_fixture.hpp"

namespace doxlab::transport {
namespace {

using namespace dnscrypt_fixture;

TEST_F(DnscryptUdpTest, ForgedAndForeignAnswersAreDropped) {
  start_server();
  client_options.known_certificate = certificate();
  auto client = make_client(false);
  client->submit(make_query());
  client->start(kStart);
  const auto sent = outputs(*client);
  const auto reply = exchange(sent.at(0)).at(0);
  for (std::size_t i = 0; i < reply.size(); ++i) {
    Bytes forged = reply;
    forged[i] ^= 4;
    client->receive(forged, kStart);
  }
  for (std::size_t size = 0; size < reply.size(); ++size)
    client->receive(BytesView(reply).first(size), kStart);
  client->receive(sent[0], kStart);
  client->receive(make_answer(make_query(), 4), kStart);  // plain, and nobody asked
  client->receive(Bytes(65'535, 0x72), kStart);
  std::vector<Event> events = events_of(*client);
  EXPECT_FALSE(find_event<ResponseReceived>(events));
  EXPECT_FALSE(find_event<Closed>(events));
  client->receive(reply, kStart);
  events = events_of(*client);
  EXPECT_TRUE(find_event<ResponseReceived>(events));
  client->receive(reply, kStart);  // a duplicate
  EXPECT_TRUE(events_of(*client).empty());
}

TEST_F(DnscryptUdpTest, AnswerToAnotherQuestionInsideAGoodBoxIsDropped) {
  client_options.known_certificate = certificate();
  auto client = make_client(false);
  client->submit(make_query());
  client->start(kStart);
  const auto packet = dnscrypt::parse_query_packet(outputs(*client).at(0)).value();
  const auto resolver = keys->current()->find(packet.magic, kUnixNow);
  const auto key =
      dnscrypt::SharedKey::derive(resolver->certificate.es_version, packet.client_key, resolver->pair)
          .value();
  const auto answer = [&](BytesView message) {
    return dnscrypt::seal_response(key, packet.nonce, dnscrypt::make_resolver_nonce(),
                                   dnscrypt::pad(message, 256));
  };
  client->receive(answer(make_answer(make_query("other.example.com"), 4)), kStart);
  client->receive(answer(make_answer(make_query("www.example.com", 0x4321), 4)), kStart);
  client->receive(answer(make_query()), kStart);
  client->receive(answer(Bytes(3)), kStart);
  EXPECT_FALSE(find_event<ResponseReceived>(events_of(*client)));
  client->receive(answer(make_answer(make_query(), 4)), kStart);
  EXPECT_TRUE(find_event<ResponseReceived>(events_of(*client)));
}

class BadCertificateAnswers : public DnscryptUdpTest {
 protected:
  /// The reason with which a client gives up on these certificates.
  std::string reason(std::vector<Bytes> certificates, std::uint16_t extra_flags = 0,
                     std::size_t max_octets = 4096) {
    auto client = make_client(false);
    client->submit(make_query());
    client->start(kStart);
    auto answer = dnscrypt::compose_certificate_answer(outputs(*client).at(0), certificates,
                                                       {.max_octets = max_octets});
    answer[3] = static_cast<std::uint8_t>(answer[3] | extra_flags);
    client->receive(answer, kStart);
    EXPECT_TRUE(outputs(*client).empty());
    const auto events = events_of(*client);
    EXPECT_TRUE(find_event<QueryFailed>(events));
    EXPECT_FALSE(find_event<HandshakeCompleted>(events));
    const auto closed = find_event<Closed>(events);
    return closed && !closed->clean ? closed->reason : "";
  }
  dnscrypt::Certificate signed_certificate() const { return keys->current()->accepted.front()->certificate; }
  Bytes sign(dnscrypt::Certificate certificate) const {
    dnscrypt::sign_certificate(certificate, provider);
    return dnscrypt::compose_certificate(certificate);
  }
  BadCertificateAnswers() { client_options.provider_key = provider.public_key(); }
  dnscrypt::ProviderKey provider = dnscrypt::ProviderKey::generate();
};

TEST_F(BadCertificateAnswers, EndTheSessionWithAReason) {
  EXPECT_THAT(reason({}), HasSubstr("no certificate"));
  EXPECT_THAT(reason({certificate()}), HasSubstr("not signed"));
  EXPECT_THAT(reason({Bytes(124)}), HasSubstr("not a DNSCrypt certificate"));
  EXPECT_THAT(reason({}, dns::kServFail), HasSubstr("SERVFAIL"));
  auto expired = signed_certificate();
  expired.end = kUnixNow - 1;
  EXPECT_THAT(reason({sign(expired)}), HasSubstr("expired"));
  auto future = signed_certificate();
  future.start = kUnixNow + 10;
  EXPECT_THAT(reason({sign(future)}), HasSubstr("becomes valid in 10 s"));
  auto weak = signed_certificate();
  weak.resolver_key = {};
  EXPECT_THAT(reason({sign(weak)}), HasSubstr("low order"));
  auto quic = signed_certificate();
  quic.client_magic = {0, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_THAT(reason({sign(quic)}), HasSubstr("client magic"));
  EXPECT_THAT(reason({sign(signed_certificate())}, 0, 100), HasSubstr("ask over TCP"));
}

TEST_F(BadCertificateAnswers, WithOneGoodCertificateAmongThemWork) {
  auto client = make_client(false);
  client->submit(make_query());
  client->start(kStart);
  auto newest = signed_certificate();
  newest.serial += 5;
  newest.extensions = Bytes(200, 1);
  Bytes post_quantum(1320);
  std::ranges::copy(certificate(), post_quantum.begin());
  post_quantum[5] = 3;
  const std::vector<Bytes> certificates = {post_quantum, Bytes(3), certificate(), sign(signed_certificate()),
                                           sign(newest)};
  client->receive(
      dnscrypt::compose_certificate_answer(outputs(*client).at(0), certificates, {.max_octets = 4096}),
      kStart);
  const auto events = events_of(*client);
  ASSERT_TRUE(find_event<TicketReceived>(events));
  EXPECT_EQ(find_event<TicketReceived>(events)->ticket.session_der, sign(newest));
  EXPECT_EQ(outputs(*client).size(), 1u);
}

TEST_F(BadCertificateAnswers, ThatAnswerAnotherQueryAreDropped) {
  auto client = make_client(false);
  client->submit(make_query());
  client->start(kStart);
  const auto ask = outputs(*client).at(0);
  const std::vector<Bytes> certificates = {sign(signed_certificate())};
  auto answer = dnscrypt::compose_certificate_answer(ask, certificates, {});
  answer[0] ^= 1;
  client->receive(answer, kStart);
  EXPECT_TRUE(events_of(*client).empty());
  client->receive(ask, kStart);
  client->receive({}, kStart);
  EXPECT_TRUE(events_of(*client).empty());
  answer[0] ^= 1;
  client->receive(answer, kStart);
  EXPECT_TRUE(find_event<HandshakeCompleted>(events_of(*client)));
}

TEST_F(DnscryptUdpTest, ClientSurvivesRandomDatagrams) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  start_server();
  for (int round = 0; round < 300; ++round) {
    auto client = make_client(false);
    client->submit(make_query());
    client->start(kStart);
    for (int i = 0; i < 20; ++i) {
      for (const auto& sent : outputs(*client)) {
        for (auto reply : exchange(sent)) {
          if (random() % 2) reply[random() % reply.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
          if (random() % 4 == 0) reply.resize(random() % (reply.size() + 1));
          client->receive(reply, kStart);
        }
      }
      Bytes noise(random() % 600);
      for (auto& octet : noise) octet = static_cast<std::uint8_t>(random());
      client->receive(noise, kStart);
    }
    client->close(kStart);
    EXPECT_TRUE(find_event<Closed>(events_of(*client)));
  }
}

TEST_F(DnscryptUdpTest, QueriesThatCannotBeSentFail) {
  client_options.known_certificate = certificate();
  auto client = make_client(false);
  client->start(kStart);
  client->submit(Bytes(11));
  client->submit(Bytes(3968));
  const auto events = events_of(*client);
  EXPECT_THAT(std::get<QueryFailed>(events.at(1)).reason, HasSubstr("shorter"));
  EXPECT_THAT(std::get<QueryFailed>(events.at(2)).reason, HasSubstr("too long"));
  EXPECT_TRUE(outputs(*client).empty());
  client->submit(Bytes(3967));
  EXPECT_LE(outputs(*client).at(0).size(), dnscrypt::kMaxQueryPacketOctets);
  client->close(kStart);
  const auto last = events_of(*client);
  EXPECT_TRUE(std::get<Closed>(last.back()).clean);
  EXPECT_TRUE(find_event<QueryFailed>(last));
  client->submit(make_query());
  EXPECT_THAT(std::get<QueryFailed>(events_of(*client).at(0)).reason, HasSubstr("closed"));
}

TEST_F(DnscryptTest, BadClientOptionsAreErrors) {
  client_options.provider_name = "bad..name";
  EXPECT_FALSE(make_dnscrypt_client(client_options, false, kStart));
  client_options.provider_name = kProvider;
  client_options.min_query_octets = 100;
  EXPECT_FALSE(make_dnscrypt_client(client_options, false, kStart));
  client_options.min_query_octets = 256;
  client_options.es_versions.clear();
  EXPECT_FALSE(make_dnscrypt_client(client_options, false, kStart));
}

}  // namespace
}  // namespace doxlab::transport
