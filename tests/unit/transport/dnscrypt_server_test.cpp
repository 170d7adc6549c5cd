#include "transport/dnscrypt/dnscrypt.hpp"
#include "transport/dnscrypt/server_side.hpp"
#include "unit/transport/dnscrypt_fixture.hpp"

namespace doxlab::transport {
namespace {

using namespace dnscrypt_fixture;

TEST_F(DnscryptUdpTest, ServerAnswersCertificateQueriesInPlain) {
  start_server();
  const auto ask = dnscrypt::compose_certificate_query(kProvider, 7).value();
  const auto replies = exchange(ask);
  ASSERT_EQ(replies.size(), 1u);
  const auto certificates = dnscrypt::certificates_of(replies[0], keys->provider_name_wire());
  EXPECT_EQ(certificates.value(), keys->current()->offered);
  EXPECT_TRUE(handed_out.empty());
}

TEST_F(DnscryptUdpTest, CertificatesThatDoNotFitAreLeftOutWithTc) {
  server_options.max_udp_octets = 250;
  start_server();
  const auto replies = exchange(dnscrypt::compose_certificate_query(kProvider, 7).value());
  EXPECT_LE(replies.at(0).size(), 250u);
  EXPECT_TRUE(dns::is_truncated(replies[0]));
  EXPECT_EQ(dnscrypt::certificates_of(replies[0], keys->provider_name_wire())->size(), 1u);
}

TEST_F(DnscryptUdpTest, CertificateAnswersCanBeBoundedByTheirQuery) {
  server_options.bounded_certificate_answers = true;
  start_server();
  for (const std::size_t octets : {0, 64, 128, 256, 320, 512, 2048}) {
    const auto ask = dnscrypt::compose_certificate_query(kProvider, 7, octets).value();
    const auto reply = exchange(ask).at(0);
    EXPECT_LE(reply.size(), ask.size());
    EXPECT_EQ(dns::is_truncated(reply), ask.size() < 512);
  }
  client_options.certificate_query_octets = 512;
  auto client = make_client(false);
  client->submit(make_query());
  client->start(kStart);
  talk(*client);
  EXPECT_TRUE(find_event<ResponseReceived>(events_of(*client)));
}

TEST_F(DnscryptUdpTest, EdnsSizeIsNoLeaveForLongCertificateAnswers) {
  dnscrypt::ResolverKeyOptions options;
  options.es_versions.assign(8, EsVersion::X25519XChaCha20Poly1305);
  server_options.keys = std::make_shared<dnscrypt::ResolverKeys>(kProvider, dnscrypt::ProviderKey::generate(),
                                                                 options, kUnixNow);
  start_server();
  const auto reply = exchange(dnscrypt::compose_certificate_query(kProvider, 7, 64).value()).at(0);
  EXPECT_LE(reply.size(), 512u);
  EXPECT_TRUE(dns::is_truncated(reply));
}

TEST_F(DnscryptUdpTest, ServerDropsWhatDoesNotOpen) {
  start_server();
  const RawClient raw(certificate());
  const auto good = raw.seal(make_query());
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_TRUE(exchange(BytesView(good).first(size)).empty()) << size;
  for (std::size_t i = 0; i < good.size(); ++i) {
    Bytes changed = good;
    changed[i] ^= 1;
    EXPECT_TRUE(exchange(changed).empty()) << "octet " << i;
  }
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_TRUE(exchange(longer).empty());
  EXPECT_TRUE(exchange(Bytes(65'507)).empty());
  EXPECT_TRUE(exchange(make_query()).empty());  // plain DNS
  EXPECT_TRUE(exchange(make_answer(make_query(), 4)).empty());
  EXPECT_TRUE(handed_out.empty());
  EXPECT_EQ(exchange(good).size(), 1u);
}

TEST_F(DnscryptUdpTest, ServerDropsKeysOfLowOrder) {
  start_server();
  const RawClient raw(certificate());
  // What such a key would give: a shared key that anyone can compute.
  for (const std::uint8_t first : std::to_array<std::uint8_t>({0, 1})) {
    dnscrypt::PublicKey weak{};
    weak[0] = first;
    const auto packet = dnscrypt::seal_query(raw.certificate.client_magic, weak, raw.key,
                                             dnscrypt::HalfNonce{}, dnscrypt::pad(make_query(), 256));
    EXPECT_TRUE(exchange(packet).empty());
  }
}

TEST_F(DnscryptUdpTest, ServerDropsBadPaddingAndWhatIsNoDnsQuery) {
  start_server();
  const RawClient raw(certificate());
  EXPECT_TRUE(exchange(raw.seal_padded(Bytes(256))).empty());
  Bytes unpadded = make_query();
  unpadded.push_back(1);
  EXPECT_TRUE(exchange(raw.seal_padded(unpadded)).empty());
  EXPECT_TRUE(exchange(raw.seal(Bytes{})).empty());
  EXPECT_TRUE(exchange(raw.seal(Bytes(11, 1))).empty());
  EXPECT_TRUE(exchange(raw.seal(make_answer(make_query(), 4))).empty());
  auto cut = make_query();
  cut.resize(20);
  EXPECT_TRUE(exchange(raw.seal(cut)).empty());
  EXPECT_TRUE(handed_out.empty());
  EXPECT_EQ(exchange(raw.seal(make_query(), make_query().size() + 1)).size(),
            1u);  // any length of padding is fine
}

TEST_F(DnscryptUdpTest, AnyNonceIsAcceptedAlsoAgain) {
  start_server();
  const RawClient raw(certificate());
  const auto packet = dnscrypt::seal_query(raw.certificate.client_magic, raw.keys.public_key, raw.key,
                                           dnscrypt::HalfNonce{}, dnscrypt::pad(make_query(), 256));
  const auto first = exchange(packet).at(0), second = exchange(packet).at(0);
  EXPECT_NE(first, second);  // the resolver's half of the nonce is fresh
  EXPECT_EQ(dnscrypt::open_response(first, raw.key), dnscrypt::open_response(second, raw.key));
  EXPECT_EQ(first.size(), second.size());
}

TEST_F(DnscryptUdpTest, ServerSurvivesRandomDatagrams) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  start_server();
  const RawClient raw(certificate());
  const auto ask = dnscrypt::compose_certificate_query(kProvider, 7, 128).value();
  for (int i = 0; i < 5000; ++i) {
    Bytes inner(random() % 300);
    for (auto& octet : inner) octet = static_cast<std::uint8_t>(random());
    Bytes datagram = i % 3 == 0 ? raw.seal(inner) : i % 3 == 1 ? ask : inner;
    if (random() % 2 && !datagram.empty())
      datagram[random() % datagram.size()] ^= static_cast<std::uint8_t>(random());
    if (random() % 4 == 0) datagram.resize(random() % (datagram.size() + 1));
    server->receive(kServer, kPeer, datagram, kStart);
    while (auto query = server->poll_query()) server->answer(query->handle, query->message, kStart);
    while (auto output = server->poll_output(kStart)) {
      EXPECT_LE(output->payload.size(), i % 3 == 1 ? 512 : datagram.size());
    }
  }
  EXPECT_EQ(exchange(raw.seal(make_query())).size(), 1u);
}

TEST_F(DnscryptUdpTest, AFloodOfUnansweredQueriesIsBounded) {
  server_options.queries_waiting = 10;
  start_server();
  const RawClient raw(certificate());
  for (int i = 0; i < 50; ++i) server->receive(kServer, kPeer, raw.seal(make_query()), kStart);
  std::vector<IncomingQuery> queries;
  while (auto query = server->poll_query()) queries.push_back(std::move(*query));
  EXPECT_EQ(queries.size(), 10u);
  server->answer(QueryHandle{1}, make_answer(make_query(), 4), kStart);  // forgotten
  EXPECT_FALSE(server->poll_output(kStart));
  server->answer(queries.back().handle, make_answer(make_query(), 4), kStart);
  EXPECT_TRUE(server->poll_output(kStart));
  server->answer(queries.back().handle, make_answer(make_query(), 4), kStart);  // twice
  EXPECT_FALSE(server->poll_output(kStart));
}

TEST_F(DnscryptUdpTest, NoAnswerWhereTheResolverGivesNoneAndAfterClose) {
  start_server();
  const RawClient raw(certificate());
  server->receive(kServer, kPeer, raw.seal(make_query()), kStart);
  server->answer(server->poll_query()->handle, {}, kStart);
  EXPECT_FALSE(server->poll_output(kStart));
  server->close(kStart);
  EXPECT_TRUE(exchange(raw.seal(make_query())).empty());
  EXPECT_FALSE(server->next_timeout());
}

TEST_F(DnscryptTest, SharedKeyCacheIsBoundedAndForgetsTheLeastRecentlyUsed) {
  const auto& resolver = *keys->current()->accepted.front();
  SharedKeyCache cache(3);
  std::vector<dnscrypt::PublicKey> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(dnscrypt::KeyPair::generate().public_key);
    ASSERT_TRUE(cache.get(resolver, clients.back()));
    EXPECT_LE(cache.size(), 3u);
  }
  const std::weak_ptr<const dnscrypt::SharedKey> kept = cache.get(resolver, clients[97]);
  const std::weak_ptr<const dnscrypt::SharedKey> lost = cache.get(resolver, clients[98]);
  cache.get(resolver, clients[97]);
  cache.get(resolver, clients[0]);
  cache.get(resolver, clients[1]);
  EXPECT_FALSE(kept.expired());
  EXPECT_TRUE(lost.expired());
  EXPECT_FALSE(cache.get(resolver, dnscrypt::PublicKey{}));
  cache.clear();
  EXPECT_TRUE(kept.expired());
  SharedKeyCache none(0);
  EXPECT_TRUE(none.get(resolver, clients[0]));
  EXPECT_EQ(none.size(), 0u);
}

TEST_F(DnscryptTest, AnswersWithLongOptionsAreCutToWhatFits) {
  DnscryptServerSide side(server_options, 0);
  const RawClient raw(certificate());
  const auto query = side.open(raw.seal(make_query()), kStart).value();
  // An answer whose OPT record is too long to stay.
  auto answer = make_answer(make_query(), 600);
  answer[11] = 1;
  const Bytes opt = {0, 0, 41, 0x04, 0xd0, 0, 0, 0, 0, 0x01, 0x04, 0, 12, 0x01, 0x00};
  answer.insert(answer.end(), opt.begin(), opt.end());
  answer.resize(answer.size() + 256);
  ASSERT_TRUE(dns::parse_message(answer));
  const auto question_end = dns::read_question(answer)->end;
  for (std::size_t limit = 0; limit < 700; ++limit) {
    const auto packet = side.seal(query, answer, limit, 65'535);
    ASSERT_EQ(packet.has_value(), limit > question_end + dnscrypt::kResponseOverheadOctets) << limit;
    if (!packet) continue;
    EXPECT_LE(packet->size(), limit);
    const auto message = dns::parse_message(dnscrypt::open_response(*packet, raw.key).value());
    ASSERT_TRUE(message) << message.error().message;
    EXPECT_TRUE(message->truncated);
    EXPECT_TRUE(message->answer.empty());
    EXPECT_EQ(message->edns, limit >= question_end + 11 + 1 + dnscrypt::kResponseOverheadOctets);
  }
}

TEST_F(DnscryptTest, VariedPaddingFollowsFromTheQuery) {
  server_options.varied_padding = true;
  DnscryptServerSide side(server_options, 0);
  const RawClient raw(certificate());
  std::set<std::size_t> sizes;
  for (int i = 0; i < 100; ++i) {
    const auto query = side.open(raw.seal(make_query(), 512), kStart).value();
    const auto size = side.seal(query, make_answer(make_query(), 4), 4096, 65'535)->size();
    EXPECT_EQ(side.seal(query, make_answer(make_query(), 4), 4096, 65'535)->size(), size);
    sizes.insert(size);
  }
  EXPECT_EQ(sizes.size(), 4u);
}

}  // namespace
}  // namespace doxlab::transport
