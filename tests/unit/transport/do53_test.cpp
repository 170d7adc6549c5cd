#include "transport/do53/do53.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/do53/udp_client.hpp"
#include "transport/do53/udp_server.hpp"
#include "transport/framing/framing.hpp"
#include "unit/transport/transcript.hpp"

namespace doxlab::transport {
namespace {

using namespace doxlab::transport::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const SocketAddress kServer{IpAddress::v4({192, 0, 2, 53}), 53};
const SocketAddress kClient{IpAddress::v4({192, 0, 2, 1}), 40000};

TEST(UdpClientTest, AsksWithFreshIdsAndAnswersWithTheSubmittedOnes) {
  UdpClient client(0ms);
  client.submit(query("a.test.", 1));
  client.submit(query("b.test.", 1));
  EXPECT_FALSE(client.poll_output(at(0ms))) << "not started";
  client.start(at(0ms));
  const auto first = client.poll_output(at(0ms));
  const auto second = client.poll_output(at(0ms));
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(client.poll_output(at(0ms)));
  EXPECT_NE(dns::message_id(*first), dns::message_id(*second));
  EXPECT_FALSE(client.next_timeout());

  client.receive(answer_to(*second), at(10ms));
  client.receive(answer_to(*first), at(11ms));
  EXPECT_THAT(events_of(client), ElementsAre("response 2 b.test. id 1", "response 1 a.test. id 1"));
}

TEST(UdpClientTest, ForgedAndLateDatagramsAreDroppedAndCounted) {
  UdpClient client(0ms);
  client.submit(query("a.test."));
  client.start(at(0ms));
  const Bytes asked = *client.poll_output(at(0ms));
  Bytes forged = answer_to(asked);
  forged[1] ^= 0x40;
  client.receive(forged, at(1ms));
  client.receive({}, at(1ms));
  client.receive(asked, at(1ms));
  EXPECT_THAT(events_of(client), IsEmpty());
  client.receive(answer_to(asked), at(2ms));
  client.receive(answer_to(asked), at(3ms));
  EXPECT_THAT(events_of(client), ElementsAre("response 1 a.test. id 4660"));
  EXPECT_EQ(client.dropped(), 4u);
}

TEST(UdpClientTest, RepeatsTheSameDatagramUntilItIsAnswered) {
  UdpClient client(100ms);
  client.start(at(0ms));
  client.submit(query("a.test."));
  const auto first = client.poll_output(at(0ms));
  EXPECT_EQ(client.next_timeout(), at(100ms));
  client.on_timeout(at(50ms));
  EXPECT_FALSE(client.poll_output(at(50ms))) << "too early";
  client.on_timeout(at(100ms));
  EXPECT_EQ(client.poll_output(at(100ms)), first);
  EXPECT_EQ(client.next_timeout(), at(200ms));
  client.on_timeout(at(205ms));
  EXPECT_EQ(client.poll_output(at(205ms)), first);
  EXPECT_EQ(client.next_timeout(), at(305ms));
  client.receive(answer_to(*first), at(210ms));
  EXPECT_THAT(events_of(client), ElementsAre("response 1 a.test. id 4660"));
  EXPECT_FALSE(client.next_timeout());
  client.on_timeout(at(400ms));
  EXPECT_FALSE(client.poll_output(at(400ms)));
}

TEST(UdpClientTest, EachQueryHasItsOwnTimer) {
  UdpClient client(100ms);
  client.start(at(0ms));
  client.submit(query("a.test."));
  const auto a = client.poll_output(at(0ms));
  client.submit(query("b.test."));
  const auto b = client.poll_output(at(30ms));
  client.receive(answer_to(*a), at(40ms));
  EXPECT_EQ(client.next_timeout(), at(130ms));
  client.on_timeout(at(130ms));
  EXPECT_EQ(client.poll_output(at(130ms)), b);
  EXPECT_FALSE(client.poll_output(at(130ms)));
}

TEST(UdpClientTest, CloseFailsWhatIsOpen) {
  UdpClient client(100ms);
  client.start(at(0ms));
  client.submit(query("a.test."));
  client.submit(Bytes(3, 0));
  client.close(at(1ms));
  client.close(at(1ms));
  client.submit(query("b.test."));
  EXPECT_THAT(events_of(client),
              ElementsAre("failed 2: the query is shorter than a DNS header",
                          "failed 1: the client closed the session", "closed", "failed 3: the session is closed"));
  EXPECT_FALSE(client.poll_output(at(1ms)));
  EXPECT_FALSE(client.next_timeout());
}

TEST(UdpServerTest, AnswersGoToTheirClients) {
  UdpServer server(1232);
  const SocketAddress other{IpAddress::v4({192, 0, 2, 2}), 40001};
  server.receive(kServer, kClient, query("a.test."), at(0ms));
  server.receive(kServer, other, query("b.test."), at(0ms));
  const auto queries = queries_of(server);
  ASSERT_EQ(queries.size(), 2u);
  server.answer(queries[1].handle, answer_to(queries[1].message), at(1ms));
  server.answer(queries[0].handle, answer_to(queries[0].message), at(1ms));
  server.answer(queries[0].handle, answer_to(queries[0].message), at(1ms));
  const auto first = server.poll_output(at(1ms)), second = server.poll_output(at(1ms));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->peer, other);
  EXPECT_EQ(name_in(first->payload), "b.test.");
  EXPECT_EQ(second->peer, kClient);
  EXPECT_FALSE(server.poll_output(at(1ms)));
}

TEST(UdpServerTest, AnswersAndScrapsAreNoQueries) {
  UdpServer server(1232);
  server.receive(kServer, kClient, answer_to(query("a.test.")), at(0ms));
  server.receive(kServer, kClient, Bytes(11, 0), at(0ms));
  server.receive(kServer, kClient, {}, at(0ms));
  EXPECT_FALSE(server.poll_query());
}

TEST(UdpServerTest, AFloodDropsTheOldestQueries) {
  UdpServer server(1232);
  for (int i = 0; i < 20'000; ++i) server.receive(kServer, kClient, query("a.test."), at(0ms));
  const auto queries = queries_of(server);
  EXPECT_EQ(queries.size(), 16'384u);
  EXPECT_EQ(queries.back().handle.value, 20'000u);
}

TEST(UdpServerTest, LimitIsTheClientsButNotMoreThanItsOwn) {
  dns::QueryOptions options;
  options.udp_payload_size = 4096;
  EXPECT_EQ(udp_limit_of(*dns::compose_query("a.test.", 1, options)), 4096u);
  options.udp_payload_size = 100;
  EXPECT_EQ(udp_limit_of(*dns::compose_query("a.test.", 1, options)), 512u);
  options.edns = false;
  EXPECT_EQ(udp_limit_of(*dns::compose_query("a.test.", 1, options)), 512u);
  EXPECT_EQ(udp_limit_of(Bytes(12, 0xFF)), 512u);

  UdpServer server(1232);
  options.edns = true;
  options.udp_payload_size = 4096;
  for (const std::size_t size : {1232u, 1233u}) {
    server.receive(kServer, kClient, *dns::compose_query("a.test.", 1, options), at(0ms));
    const auto incoming = server.poll_query();
    const Bytes answer = answer_to(incoming->message, size - incoming->message.size());
    server.answer(incoming->handle, answer, at(0ms));
    const auto output = server.poll_output(at(0ms));
    ASSERT_TRUE(output);
    EXPECT_EQ(output->payload.size() == size, size == 1232) << size;
    EXPECT_EQ(dns::is_truncated(output->payload), size == 1233) << size;
  }
}

TEST(UdpServerTest, TruncatedAnswersKeepQuestionAndOptAndAnswerTheQuery) {
  const Bytes asked = query("a.test.");
  Bytes answer = answer_to(asked);
  // One A record in front of OPT: the question is 12 + 8 + 4 octets.
  const Bytes record = {0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1};
  answer.insert(answer.begin() + 24, record.begin(), record.end());
  answer[7] = 1;
  ASSERT_TRUE(dns::parse_message(answer));
  const Bytes cut = truncated(answer);
  const auto parsed = dns::parse_message(cut);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(parsed->truncated);
  EXPECT_TRUE(parsed->edns);
  EXPECT_TRUE(parsed->answer.empty());
  EXPECT_TRUE(dns::is_answer_to(asked, cut));
  EXPECT_EQ(truncated(Bytes(3, 0)).size(), 0u);
  EXPECT_EQ(truncated(Bytes(600, 0xFF)).size(), 12u);
}

struct TcpPair {
  std::unique_ptr<ClientSession> client = make_do53_tcp_client({});
  std::unique_ptr<StreamServerSession> server;
  explicit TcpPair(ServerOptions options = {}) : server(make_do53_tcp_server_session(options, kStart)) {}
};

TEST(Do53Tcp, PipelinedQueriesAreAnsweredInAnyOrder) {
  TcpPair pair;
  for (const char* name : {"a.test.", "b.test.", "c.test."}) pair.client->submit(query(name, 9));
  EXPECT_THAT(stream_of(*pair.client, at(0ms)), IsEmpty()) << "not started";
  pair.client->start(at(0ms));
  pair.server->receive(stream_of(*pair.client, at(0ms)), at(20ms));
  const auto queries = queries_of(*pair.server);
  ASSERT_EQ(queries.size(), 3u);
  for (const std::size_t i : {2u, 0u, 1u}) {
    pair.server->answer(queries[i].handle, answer_to(queries[i].message), at(21ms));
  }
  pair.client->receive(stream_of(*pair.server, at(21ms)), at(41ms));
  EXPECT_THAT(events_of(*pair.client),
              ElementsAre("response 3 c.test. id 9", "response 1 a.test. id 9", "response 2 b.test. id 9"));
  pair.client->close(at(50ms));
  EXPECT_THAT(events_of(*pair.client), ElementsAre("closed"));
}

TEST(Do53Tcp, OctetByOctetIsFine) {
  TcpPair pair;
  pair.client->start(at(0ms));
  pair.client->submit(query("a.test."));
  for (const std::uint8_t octet : stream_of(*pair.client, at(0ms))) pair.server->receive({&octet, 1}, at(1ms));
  const auto incoming = pair.server->poll_query();
  ASSERT_TRUE(incoming);
  pair.server->answer(incoming->handle, answer_to(incoming->message), at(1ms));
  for (const std::uint8_t octet : stream_of(*pair.server, at(1ms))) pair.client->receive({&octet, 1}, at(2ms));
  EXPECT_THAT(events_of(*pair.client), ElementsAre("response 1 a.test. id 4660"));
}

TEST(Do53Tcp, EndOfTheConnectionFailsOpenQueriesAndOnlyThose) {
  TcpPair pair;
  pair.client->start(at(0ms));
  pair.client->submit(query("a.test."));
  pair.client->submit(query("b.test."));
  pair.server->receive(stream_of(*pair.client, at(0ms)), at(0ms));
  const auto queries = queries_of(*pair.server);
  pair.server->answer(queries[0].handle, answer_to(queries[0].message), at(0ms));
  pair.client->receive(stream_of(*pair.server, at(0ms)), at(1ms));
  pair.client->receive_end(at(2ms));
  pair.client->receive_end(at(2ms));
  pair.client->submit(query("c.test."));
  EXPECT_THAT(events_of(*pair.client),
              ElementsAre("response 1 a.test. id 4660", "failed 2: the server closed the connection before it answered",
                          "broken: the server closed the connection before it answered",
                          "failed 3: the connection is closed"));
}

TEST(Do53Tcp, EndWithNothingOpenIsClean) {
  TcpPair pair;
  pair.client->start(at(0ms));
  pair.client->receive_end(at(2ms));
  EXPECT_THAT(events_of(*pair.client), ElementsAre("closed"));
}

TEST(Do53Tcp, HalfClosedClientsGetAllAnswers) {
  TcpPair pair;
  pair.client->start(at(0ms));
  pair.client->submit(query("a.test."));
  pair.client->submit(query("b.test."));
  pair.server->receive(stream_of(*pair.client, at(0ms)), at(0ms));
  pair.server->receive_end(at(0ms));
  EXPECT_FALSE(pair.server->is_closed());
  const auto queries = queries_of(*pair.server);
  ASSERT_EQ(queries.size(), 2u);
  pair.server->answer(queries[0].handle, answer_to(queries[0].message), at(1s));
  EXPECT_FALSE(pair.server->is_closed());
  pair.server->answer(queries[1].handle, answer_to(queries[1].message), at(2s));
  EXPECT_FALSE(pair.server->is_closed()) << "output is left";
  pair.client->receive(stream_of(*pair.server, at(2s)), at(2s));
  EXPECT_TRUE(pair.server->is_closed());
  EXPECT_EQ(events_of(*pair.client).size(), 2u);
}

TEST(Do53Tcp, EndWithoutQueriesClosesTheServer) {
  TcpPair pair;
  pair.server->receive(Bytes{0, 20, 1}, at(0ms));  // part of a message
  pair.server->receive_end(at(0ms));
  EXPECT_TRUE(pair.server->is_closed());
}

class Do53TcpShort : public ::testing::TestWithParam<std::size_t> {};
TEST_P(Do53TcpShort, MessagesBelowAHeaderCloseTheConnection) {
  TcpPair pair;
  pair.server->receive(frame(Bytes(GetParam(), 0)), at(0ms));
  pair.server->receive(frame(query("a.test.")), at(0ms));
  EXPECT_FALSE(pair.server->poll_query());
  EXPECT_TRUE(pair.server->is_closed());
}
INSTANTIATE_TEST_SUITE_P(Lengths, Do53TcpShort, ::testing::Values(0, 1, 11));

TEST(Do53Tcp, IdleTimeoutCountsFromTheLastWholeQueryOrAnswer) {
  TcpPair pair;
  EXPECT_EQ(pair.server->next_timeout(), at(10s));
  const Bytes framed = frame(query("a.test."));
  pair.server->receive(BytesView(framed).first(5), at(6s));
  EXPECT_EQ(pair.server->next_timeout(), at(10s)) << "a few octets keep nothing open";
  pair.server->receive(BytesView(framed).subspan(5), at(8s));
  const auto incoming = pair.server->poll_query();
  ASSERT_TRUE(incoming);
  EXPECT_FALSE(pair.server->next_timeout()) << "the client waits for us";
  pair.server->on_timeout(at(60s));
  EXPECT_FALSE(pair.server->is_closed());
  pair.server->answer(incoming->handle, answer_to(incoming->message), at(61s));
  stream_of(*pair.server, at(61s));
  EXPECT_EQ(pair.server->next_timeout(), at(71s));
  pair.server->on_timeout(at(70s));
  EXPECT_FALSE(pair.server->is_closed());
  pair.server->on_timeout(at(71s));
  EXPECT_TRUE(pair.server->is_closed());
  EXPECT_FALSE(pair.server->next_timeout());
}

TEST(Do53Tcp, QueriesInFlightAreLimitedAndTheOthersWait) {
  ServerOptions options;
  options.limits.queries_in_flight = 2;
  TcpPair pair(options);
  for (const char* name : {"a.test.", "b.test.", "c.test."}) pair.server->receive(frame(query(name)), at(0ms));
  const auto first = queries_of(*pair.server);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_FALSE(pair.server->next_timeout());
  pair.server->answer(first[0].handle, answer_to(first[0].message), at(5s));
  EXPECT_EQ(pair.server->next_timeout(), at(5s)) << "the third can go on at once";
  pair.server->on_timeout(at(5s));
  const auto rest = queries_of(*pair.server);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(name_in(rest[0].message), "c.test.");
}

TEST(Do53Tcp, OutputThatNobodyTakesHoldsQueriesBackAndThenCloses) {
  ServerOptions options;
  options.limits.queued_output_bytes = 1000;
  TcpPair pair(options);
  for (int i = 0; i < 3; ++i) pair.server->receive(frame(query("a.test.")), at(0ms));
  const auto a = pair.server->poll_query();
  pair.server->answer(a->handle, answer_to(a->message, 600), at(0ms));
  EXPECT_FALSE(pair.server->poll_query()) << "half of the cap is full";
  stream_of(*pair.server, at(0ms));
  const auto b = pair.server->poll_query();
  const auto c = pair.server->poll_query();
  ASSERT_TRUE(b && c);
  pair.server->answer(b->handle, answer_to(b->message, 600), at(0ms));
  pair.server->answer(c->handle, answer_to(c->message, 600), at(0ms));
  stream_of(*pair.server, at(0ms));
  EXPECT_TRUE(pair.server->is_closed());
}

TEST(Do53Tcp, InputBeyondItsBufferCloses) {
  ServerOptions options;
  options.limits.queries_in_flight = 1;
  TcpPair pair(options);
  Bytes block;
  for (int i = 0; i < 1000; ++i) {
    const Bytes framed = frame(query("a.test."));
    block.insert(block.end(), framed.begin(), framed.end());
  }
  int blocks = 0;
  while (!pair.server->is_closed() && blocks < 100) {
    pair.server->receive(block, at(0ms));
    pair.server->poll_query();
    ++blocks;
  }
  EXPECT_LT(blocks, 10);
}

TEST(Do53Tcp, AnswersFromTheClientGetNoAnswerAndKeepNothingOpen) {
  TcpPair pair;
  pair.server->receive(frame(answer_to(query("a.test."))), at(5s));
  EXPECT_FALSE(pair.server->poll_query());
  EXPECT_FALSE(pair.server->is_closed());
  EXPECT_EQ(pair.server->next_timeout(), at(10s));
}

TEST(Do53Tcp, UnknownHandlesAndEmptyAnswersSendNothing) {
  TcpPair pair;
  pair.server->receive(frame(query("a.test.")), at(0ms));
  const auto incoming = pair.server->poll_query();
  pair.server->answer({99}, answer_to(incoming->message), at(0ms));
  pair.server->answer(incoming->handle, {}, at(0ms));
  EXPECT_FALSE(pair.server->poll_output(at(0ms)));
  EXPECT_EQ(pair.server->next_timeout(), at(10s));
  pair.server->close(at(1s));
  EXPECT_TRUE(pair.server->is_closed());
  pair.server->receive(frame(query("a.test.")), at(2s));
  EXPECT_FALSE(pair.server->poll_query());
}

}  // namespace
}  // namespace doxlab::transport
