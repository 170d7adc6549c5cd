#include "transport/dnscrypt/dnscrypt.hpp"

#include "unit/transport/dnscrypt_fixture.hpp"

namespace doxlab::transport {
namespace {

using namespace dnscrypt_fixture;

TEST_F(DnscryptUdpTest, ColdLookupTakesTwoRoundTrips) {
  start_server();
  auto client = make_client(false);
  const auto handle = client->submit(make_query());
  client->start(kStart);
  EXPECT_EQ(talk(*client), std::pair(std::size_t{2}, std::size_t{2}));
  const auto events = events_of(*client);
  ASSERT_EQ(events.size(), 3u);
  const auto& info = std::get<HandshakeCompleted>(events[0]).info;
  EXPECT_EQ(info.version, "DNSCrypt v2");
  EXPECT_EQ(info.cipher, "X25519-XChaCha20Poly1305");
  EXPECT_FALSE(info.resumed);
  EXPECT_EQ(info.peer_certificate_bytes, 124u);
  EXPECT_EQ(std::get<TicketReceived>(events[1]).ticket.session_der, certificate());
  const auto& response = std::get<ResponseReceived>(events[2]);
  EXPECT_EQ(response.query, handle);
  EXPECT_EQ(response.message, make_answer(make_query(), 16));
  EXPECT_EQ(handed_out, std::vector<Bytes>{make_query()});
}

TEST_F(DnscryptUdpTest, WarmLookupTakesOneRoundTrip) {
  start_server();
  client_options.known_certificate = certificate();
  auto client = make_client(false);
  client->submit(make_query());
  client->start(kStart);
  EXPECT_EQ(talk(*client), std::pair(std::size_t{1}, std::size_t{1}));
  const auto events = events_of(*client);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(std::get<HandshakeCompleted>(events[0]).info.resumed);
  EXPECT_TRUE(std::holds_alternative<ResponseReceived>(events[1]));
}

TEST_F(DnscryptUdpTest, KnownCertificateThatHasExpiredIsFetchedAnew) {
  start_server();
  client_options.known_certificate = certificate();
  client_options.clock.seconds = server_options.clock.seconds = kUnixNow + 86'401;
  start_server();
  auto client = make_client(false);
  client->submit(make_query());
  client->start(kStart);
  EXPECT_EQ(talk(*client).first, 2u);
  EXPECT_TRUE(find_event<ResponseReceived>(events_of(*client)));
}

TEST_F(DnscryptUdpTest, EachConstructionWorks) {
  start_server();
  for (const auto version : {EsVersion::X25519XSalsa20Poly1305, EsVersion::X25519XChaCha20Poly1305}) {
    client_options.es_versions = {version};
    auto client = make_client(false);
    client->submit(make_query());
    client->start(kStart);
    talk(*client);
    const auto events = events_of(*client);
    EXPECT_EQ(find_event<HandshakeCompleted>(events)->info.cipher, dnscrypt::to_string(version));
    EXPECT_TRUE(find_event<ResponseReceived>(events));
  }
}

TEST_F(DnscryptUdpTest, ManyQueriesShareOneCertificate) {
  start_server();
  auto client = make_client(false);
  std::set<QueryHandle> handles;
  for (std::uint16_t i = 0; i < 50; ++i) handles.insert(client->submit(make_query("www.example.com", i)));
  client->start(kStart);
  EXPECT_EQ(talk(*client).first, 51u);
  std::set<QueryHandle> answered;
  for (const auto& event : events_of(*client)) {
    if (const auto* response = std::get_if<ResponseReceived>(&event)) answered.insert(response->query);
  }
  EXPECT_EQ(answered, handles);
}

TEST_F(DnscryptUdpTest, CertificateQueryIsPlainAndAloneFirst) {
  auto client = make_client(false);
  client->submit(make_query());
  EXPECT_TRUE(outputs(*client).empty());  // not before start()
  client->start(kStart);
  const auto sent = outputs(*client);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(dnscrypt::is_certificate_query(sent[0], keys->provider_name_wire()));
  EXPECT_FALSE(client->next_timeout());
}

TEST_F(DnscryptUdpTest, QueryIsPaddedToTheLeastSizeAndAMultipleOf64) {
  client_options.known_certificate = certificate();
  for (const std::size_t least : {0, 256, 512}) {
    client_options.min_query_octets = least;
    for (const int labels : {1, 20, 60, 120}) {
      auto client = make_client(false);
      std::string name;
      for (int i = 0; i < labels; ++i) name += "a.";
      const auto query = make_query(name);
      client->submit(query);
      client->start(kStart);
      const auto sent = outputs(*client);
      ASSERT_EQ(sent.size(), 1u);
      const auto padded = sent[0].size() - dnscrypt::kQueryOverheadOctets;
      EXPECT_EQ(padded % 64, 0u);
      EXPECT_GE(padded, least);
      EXPECT_GT(padded, query.size());
    }
  }
}

TEST_F(DnscryptUdpTest, NoncesAndKeysAreFresh) {
  client_options.known_certificate = certificate();
  std::set<Bytes> nonces, client_keys;
  for (int session = 0; session < 5; ++session) {
    auto client = make_client(false);
    for (int i = 0; i < 100; ++i) client->submit(make_query());
    client->start(kStart);
    for (const auto& packet : outputs(*client)) {
      nonces.insert(to_bytes(BytesView(packet).subspan(40, 12)));
      client_keys.insert(to_bytes(BytesView(packet).subspan(8, 32)));
    }
  }
  EXPECT_EQ(nonces.size(), 500u);
  EXPECT_EQ(client_keys.size(), 5u);
}

TEST_F(DnscryptUdpTest, AnswerIsNeverLongerThanTheQuery) {
  start_server();
  const RawClient raw(certificate());
  const auto query = make_query();
  for (std::size_t padded = query.size() + 1; padded < 1400; padded += 13) {
    const auto packet = raw.seal(query, padded);
    for (std::size_t answer_octets = 0; answer_octets < 1500; answer_octets += 37) {
      const auto replies = exchange(packet, answer_octets);
      ASSERT_EQ(replies.size(), 1u) << padded << ' ' << answer_octets;
      EXPECT_LE(replies[0].size(), packet.size());
      EXPECT_LE(replies[0].size(), 1232u);
      const auto message = dnscrypt::open_response(replies[0], raw.key);
      ASSERT_TRUE(message);
      const auto whole = make_answer(query, answer_octets);
      const auto limit = std::min<std::size_t>(packet.size(), 1232) - dnscrypt::kResponseOverheadOctets - 1;
      if (whole.size() <= limit) {
        EXPECT_EQ(*message, whole);
      } else {
        EXPECT_TRUE(dns::is_truncated(*message));
        EXPECT_TRUE(dns::is_answer_to(query, *message));
        EXPECT_TRUE(dns::parse_message(*message));
      }
    }
  }
}

TEST_F(DnscryptUdpTest, AnswerHonoursTheSizeThatTheInnerQueryTakes) {
  start_server();
  const RawClient raw(certificate());
  const auto plain = make_query("www.example.com", 1, false);
  const auto message = dnscrypt::open_response(exchange(raw.seal(plain, 1024), 600).at(0), raw.key);
  EXPECT_TRUE(dns::is_truncated(*message));
  const auto edns = dnscrypt::open_response(exchange(raw.seal(make_query(), 1024), 600).at(0), raw.key);
  EXPECT_FALSE(dns::is_truncated(*edns));
}

TEST_F(DnscryptUdpTest, TruncatedAnswerReachesTheCallerAndLaterQueriesGrow) {
  start_server();
  client_options.known_certificate = certificate();
  auto client = make_client(false);
  client->submit(make_query());
  client->start(kStart);
  talk(*client, 900);
  EXPECT_TRUE(find_event<ResponseReceived>(events_of(*client)));
  std::size_t last = 256;
  for (int i = 0; i < 20; ++i) {
    client->submit(make_query());
    const auto sent = outputs(*client);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_LE(sent[0].size(), 1232u);
    const auto padded = sent[0].size() - dnscrypt::kQueryOverheadOctets;
    EXPECT_EQ(padded, std::min<std::size_t>(last + 64, 1152));
    last = padded;
    for (const auto& reply : exchange(sent[0], 1200)) client->receive(reply, kStart);
    for (const auto& event : events_of(*client)) {
      const auto* answer = std::get_if<ResponseReceived>(&event);
      ASSERT_TRUE(answer);
      EXPECT_TRUE(dns::is_truncated(answer->message));
    }
  }
}

TEST_F(DnscryptUdpTest, RetransmissionRepeatsTheSamePacket) {
  client_options.retransmission = 1s;
  auto client = make_client(false);
  client->submit(make_query());
  client->start(kStart);
  const auto first = outputs(*client);
  EXPECT_EQ(client->next_timeout(), kStart + 1s);
  client->on_timeout(kStart + 999ms);
  EXPECT_TRUE(outputs(*client, kStart + 999ms).empty());
  client->on_timeout(kStart + 1s);
  EXPECT_EQ(outputs(*client, kStart + 1s), first);
  EXPECT_EQ(client->next_timeout(), kStart + 2s);

  start_server();
  client->receive(exchange(first[0]).at(0), kStart + 1500ms);
  const auto packet = outputs(*client, kStart + 1500ms);
  ASSERT_EQ(packet.size(), 1u);
  EXPECT_EQ(client->next_timeout(), kStart + 2500ms);
  client->on_timeout(kStart + 2500ms);
  EXPECT_EQ(outputs(*client, kStart + 2500ms), packet);
  client->receive(exchange(packet[0]).at(0), kStart + 2600ms);
  EXPECT_TRUE(find_event<ResponseReceived>(events_of(*client)));
  EXPECT_FALSE(client->next_timeout());
}

TEST_F(DnscryptUdpTest, CertificatesAreRefreshedBesideTheQueries) {
  start_server();
  auto client = make_client(false);
  client->submit(make_query());
  client->start(kStart);
  talk(*client);
  events_of(*client);
  keys->rotate(kUnixNow + 3600);
  const auto later = kStart + 1h;
  client->submit(make_query());
  EXPECT_EQ(talk(*client, 16, later).first, 2u);
  const auto events = events_of(*client);
  EXPECT_FALSE(find_event<HandshakeCompleted>(events));
  ASSERT_TRUE(find_event<TicketReceived>(events));
  EXPECT_EQ(find_event<TicketReceived>(events)->ticket.session_der, certificate());
  EXPECT_TRUE(find_event<ResponseReceived>(events));
  client->submit(make_query());
  EXPECT_EQ(talk(*client, 16, later + 1min).first, 1u);
}

TEST_F(DnscryptUdpTest, LostRefreshIsAskedAgainAndQueriesGoOn) {
  start_server();
  auto client = make_client(false);
  client->submit(make_query());
  client->start(kStart);
  talk(*client);
  client->submit(make_query());
  EXPECT_EQ(outputs(*client, kStart + 2h).size(), 2u);  // both are lost
  client->submit(make_query());
  EXPECT_EQ(outputs(*client, kStart + 2h + 1s).size(), 1u);
  client->submit(make_query());
  EXPECT_EQ(talk(*client, 16, kStart + 2h + 6s).first, 2u);
}

TEST_F(DnscryptUdpTest, ExpiredCertificateHoldsQueriesUntilTheNewOne) {
  start_server();
  auto client = make_client(false);
  client->submit(make_query());
  client->start(kStart);
  talk(*client);
  events_of(*client);
  const auto later = kStart + 25h;
  client->submit(make_query());
  const auto sent = outputs(*client, later);
  ASSERT_EQ(sent.size(), 1u);
  client->receive(exchange(sent[0], 16, later).at(0), later);
  EXPECT_EQ(talk(*client, 16, later).first, 1u);
  EXPECT_TRUE(find_event<ResponseReceived>(events_of(*client)));
}

TEST_F(DnscryptUdpTest, ServerRotatesWhenItIsDueAndStillTakesTheKeyBefore) {
  start_server();
  const RawClient raw(certificate());
  EXPECT_EQ(server->next_timeout(), kStart + 12h);
  server->on_timeout(kStart + 12h);
  EXPECT_EQ(keys->current()->generation, 2u);
  EXPECT_EQ(server->next_timeout(), kStart + 24h);
  EXPECT_EQ(exchange(raw.seal(make_query()), 16, kStart + 13h).size(), 1u);
  EXPECT_EQ(exchange(raw.seal(make_query()), 16, kStart + 24h).size(), 1u);
  EXPECT_TRUE(exchange(raw.seal(make_query()), 16, kStart + 24h + 1s).empty());
}

TEST(UnixClock, FollowsTheSessionClock) {
  const UnixClock clock{1000, kStart};
  EXPECT_EQ(clock.at_time(kStart), 1000u);
  EXPECT_EQ(clock.at_time(kStart + 999ms), 1000u);
  EXPECT_EQ(clock.at_time(kStart + 1s), 1001u);
  EXPECT_EQ(clock.at_time(kStart - 1ms), 999u);
  EXPECT_EQ(clock.at_time(kStart - 10h), 0u);
}

}  // namespace
}  // namespace doxlab::transport
