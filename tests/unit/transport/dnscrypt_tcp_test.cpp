#include "transport/dnscrypt/dnscrypt.hpp"
#include "unit/transport/dnscrypt_fixture.hpp"

namespace doxlab::transport {
namespace {

using namespace dnscrypt_fixture;

class DnscryptTcpTest : public DnscryptTest {
 protected:
  void connect() { server = make_dnscrypt_tcp_server_session(server_options, kStart); }
  Bytes output(ClientSession& session) {
    Bytes out;
    while (auto more = session.poll_output(kStart)) out.insert(out.end(), more->begin(), more->end());
    return out;
  }
  Bytes output() {
    Bytes out;
    while (auto more = server->poll_output(kStart)) out.insert(out.end(), more->begin(), more->end());
    return out;
  }
  void answer_queries(std::size_t answer_octets) {
    while (auto query = server->poll_query())
      server->answer(query->handle, make_answer(query->message, answer_octets), kStart);
  }
  /// Lets both talk, `run` octets at a time.
  void talk(ClientSession& session, std::size_t run, std::size_t answer_octets = 16) {
    for (auto there = output(session); !there.empty(); there = output(session)) {
      for (BytesView rest = there; !rest.empty(); rest = rest.subspan(std::min(run, rest.size()))) {
        server->receive(rest.first(std::min(run, rest.size())), kStart);
      }
      answer_queries(answer_octets);
      const auto back = output();
      for (BytesView rest = back; !rest.empty(); rest = rest.subspan(std::min(run, rest.size()))) {
        session.receive(rest.first(std::min(run, rest.size())), kStart);
      }
    }
  }

  std::unique_ptr<StreamServerSession> server;
};

TEST_F(DnscryptTcpTest, ColdLookupFetchesAndAsksOnOneConnectionThenBothClose) {
  for (const std::size_t run : {1, 2, 3, 7, 100'000}) {
    connect();
    auto client = make_client(true);
    const auto handle = client->submit(make_query());
    client->start(kStart);
    talk(*client, run, 3000);
    const auto events = events_of(*client);
    ASSERT_EQ(events.size(), 4u);
    EXPECT_TRUE(std::holds_alternative<HandshakeCompleted>(events[0]));
    EXPECT_TRUE(std::holds_alternative<TicketReceived>(events[1]));
    EXPECT_EQ(std::get<ResponseReceived>(events[2]).query, handle);
    EXPECT_EQ(std::get<ResponseReceived>(events[2]).message, make_answer(make_query(), 3000));
    EXPECT_TRUE(std::get<Closed>(events[3]).clean);
    EXPECT_TRUE(server->is_closed());
  }
}

TEST_F(DnscryptTcpTest, WarmLookupIsOneExchange) {
  connect();
  client_options.known_certificate = certificate();
  auto client = make_client(true);
  client->submit(make_query());
  client->start(kStart);
  const auto sent = output(*client);
  server->receive(sent, kStart);
  answer_queries(16);
  client->receive(output(), kStart);
  const auto events = events_of(*client);
  EXPECT_TRUE(find_event<ResponseReceived>(events));
  EXPECT_TRUE(find_event<HandshakeCompleted>(events)->info.resumed);
}

TEST_F(DnscryptTcpTest, QueryHasRandomPaddingAndAMultipleOf64) {
  client_options.known_certificate = certificate();
  std::set<std::size_t> sizes;
  for (int i = 0; i < 200; ++i) {
    auto client = make_client(true);
    client->submit(make_query());
    client->start(kStart);
    const auto sent = output(*client);
    ASSERT_EQ(sent.size(), 2u + (sent[0] << 8) + sent[1]);
    const auto padded = sent.size() - 2 - dnscrypt::kQueryOverheadOctets;
    EXPECT_EQ(padded % 64, 0u);
    EXPECT_LE(padded - make_query().size(), 256u);
    sizes.insert(padded);
  }
  EXPECT_EQ(sizes, (std::set<std::size_t>{64, 128, 192, 256}));
}

TEST_F(DnscryptTcpTest, LongestQueryKeepsThePacketWithin4096) {
  client_options.known_certificate = certificate();
  for (int i = 0; i < 20; ++i) {
    connect();
    auto client = make_client(true);
    Bytes query = make_query("www.example.com", 1, false);
    query[11] = 1;  // one OPT record with an option that fills the query
    const std::size_t option = 3967 - query.size() - 15;
    ByteWriter opt;
    opt.u8(0);
    opt.u16(dns::kTypeOpt);
    opt.u16(1232);
    opt.u32(0);
    opt.u16(static_cast<std::uint16_t>(option + 4));
    opt.u16(dns::kOptionPadding);
    opt.u16(static_cast<std::uint16_t>(option));
    opt.append(Bytes(option));
    query.insert(query.end(), opt.bytes().begin(), opt.bytes().end());
    ASSERT_EQ(query.size(), 3967u);
    client->submit(query);
    client->start(kStart);
    const auto sent = output(*client);
    EXPECT_LE(sent.size(), 2 + dnscrypt::kMaxQueryPacketOctets);
    server->receive(sent, kStart);
    EXPECT_EQ(server->poll_query()->message, query);
  }
}

TEST_F(DnscryptTcpTest, OnlyOneQueryForEachConnection) {
  client_options.known_certificate = certificate();
  auto client = make_client(true);
  client->submit(make_query());
  const auto second = client->submit(make_query());
  client->start(kStart);
  EXPECT_EQ(find_event<QueryFailed>(events_of(*client))->query, second);
  connect();
  const RawClient raw(certificate());
  auto two = frame(raw.seal(make_query()));
  const auto again = two;
  two.insert(two.end(), again.begin(), again.end());
  server->receive(two, kStart);
  EXPECT_TRUE(server->poll_query());
  EXPECT_FALSE(server->poll_query());
  server->receive(again, kStart);
  EXPECT_FALSE(server->poll_query());
}

TEST_F(DnscryptTcpTest, AnswerStaysBelow4096Octets) {
  const RawClient raw(certificate());
  for (std::size_t octets = 3900; octets < 4200; ++octets) {
    connect();
    server->receive(frame(raw.seal(make_query())), kStart);
    answer_queries(octets);
    const auto reply = output();
    const auto packet = BytesView(reply).subspan(2);
    EXPECT_LE(packet.size(), 4095u);
    const auto message = dnscrypt::open_response(packet, raw.key).value();
    const auto whole = make_answer(make_query(), octets);
    if (whole.size() + 1 + dnscrypt::kResponseOverheadOctets <= 4095) {
      EXPECT_EQ(message, whole);
    } else {
      EXPECT_TRUE(dns::is_truncated(message));
    }
  }
}

TEST_F(DnscryptTcpTest, ServerClosesOnWhatDoesNotOpen) {
  const RawClient raw(certificate());
  Bytes forged = raw.seal(make_query());
  forged.back() ^= 1;
  for (const Bytes& message :
       {Bytes{}, Bytes(5), Bytes(100), make_query(), forged, Bytes(4097), raw.seal(Bytes(11))}) {
    connect();
    server->receive(frame(message), kStart);
    EXPECT_TRUE(server->is_closed()) << message.size();
    EXPECT_FALSE(server->poll_query());
    EXPECT_TRUE(output().empty());
  }
}

TEST_F(DnscryptTcpTest, CertificateQueriesAreFewForEachConnection) {
  connect();
  const auto ask = frame(dnscrypt::compose_certificate_query(kProvider, 7).value());
  Bytes many;
  for (int i = 0; i < 20; ++i) many.insert(many.end(), ask.begin(), ask.end());
  server->receive(many, kStart);
  MessageReader reader;
  reader.feed(output());
  int answers = 0;
  while (const auto message = reader.next()) {
    ++answers;
    EXPECT_EQ(dnscrypt::certificates_of(*message, keys->provider_name_wire())->size(), 2u);
  }
  EXPECT_EQ(answers, 4);
  EXPECT_TRUE(server->is_closed());
}

TEST_F(DnscryptTcpTest, SlowAndSilentClientsAreClosed) {
  connect();
  EXPECT_EQ(server->next_timeout(), kStart + 5s);
  server->receive(Bytes{0}, kStart + 4s);
  server->on_timeout(kStart + 5s);
  EXPECT_TRUE(server->is_closed());
  EXPECT_FALSE(server->next_timeout());

  connect();
  server->receive(frame(dnscrypt::compose_certificate_query(kProvider, 7).value()), kStart + 1s);
  EXPECT_EQ(server->next_timeout(), kStart + 11s);
  server->on_timeout(kStart + 10s);
  EXPECT_FALSE(server->is_closed());
  output();
  server->on_timeout(kStart + 11s);
  EXPECT_TRUE(server->is_closed());

  connect();
  server->receive(Bytes(20'000, 0xff), kStart);  // announces more than it may
  EXPECT_TRUE(server->is_closed());
}

TEST_F(DnscryptTcpTest, HalfCloseStillGetsItsAnswer) {
  connect();
  const RawClient raw(certificate());
  server->receive(frame(raw.seal(make_query())), kStart);
  server->receive_end(kStart);
  EXPECT_FALSE(server->is_closed());
  answer_queries(16);
  EXPECT_FALSE(output().empty());
  EXPECT_TRUE(server->is_closed());
  connect();
  server->receive_end(kStart);
  EXPECT_TRUE(server->is_closed());
}

TEST_F(DnscryptTcpTest, ClientSaysWhenTheServerClosedTooEarly) {
  auto client = make_client(true);
  client->submit(make_query());
  client->start(kStart);
  output(*client);
  client->receive_end(kStart);
  auto events = events_of(*client);
  EXPECT_THAT(std::get<QueryFailed>(events.at(0)).reason, HasSubstr("certificate"));
  EXPECT_FALSE(std::get<Closed>(events.at(1)).clean);

  client_options.known_certificate = certificate();
  client = make_client(true);
  client->submit(make_query());
  client->start(kStart);
  output(*client);
  client->receive_end(kStart);
  events = events_of(*client);
  EXPECT_THAT(find_event<QueryFailed>(events)->reason, HasSubstr("before it answered"));
}

TEST_F(DnscryptTcpTest, BothSurviveRandomStreams) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const RawClient raw(certificate());
  for (int i = 0; i < 2000; ++i) {
    connect();
    auto client = make_client(true);
    client->submit(make_query());
    client->start(kStart);
    output(*client);
    Bytes stream;
    for (int part = 0; part < 3; ++part) {
      Bytes noise(random() % 50);
      for (auto& octet : noise) octet = static_cast<std::uint8_t>(random());
      const auto framed = frame(random() % 2 ? raw.seal(noise) : noise);
      stream.insert(stream.end(), framed.begin(), framed.end());
    }
    server->receive(stream, kStart);
    while (auto query = server->poll_query()) server->answer(query->handle, query->message, kStart);
    output();
    client->receive(stream, kStart);
    client->receive_end(kStart);
    EXPECT_TRUE(find_event<Closed>(events_of(*client)));
  }
}

}  // namespace
}  // namespace doxlab::transport
