#include "transport/doq/doq.hpp"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "unit/transport/doq_world.hpp"

namespace doxlab::transport {
namespace {

using test::DatagramPair;
using World = DoqWorld;

TEST(Doq, ColdQueryIsAnsweredAfterTwoRoundTrips) {
  World world;
  auto pair = world.pair();
  const auto handle = pair.client->submit(query_for("example.com."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<ResponseReceived>()) << pair.link.transcript();
  EXPECT_EQ(pair.find<ResponseReceived>()->query, handle);
  EXPECT_EQ(pair.find<ResponseReceived>()->message, test::response_to(query_for("example.com.")));
  EXPECT_EQ(pair.time_of<HandshakeCompleted>(), 40ms) << pair.link.transcript();
  EXPECT_EQ(pair.time_of<ResponseReceived>(), 80ms) << pair.link.transcript();
  EXPECT_FALSE(pair.find<HandshakeCompleted>()->retry);
  EXPECT_EQ(pair.find<HandshakeCompleted>()->info.alpn, "doq");
  ASSERT_EQ(pair.queries.size(), 1u);
  EXPECT_EQ(dns::message_id(pair.queries[0].message), 0);
  EXPECT_FALSE(pair.queries[0].early_data);
}

TEST(Doq, NothingIsSentBeforeStart) {
  World world;
  auto pair = world.pair();
  pair.client->submit(query_for("example.com."));
  EXPECT_FALSE(pair.client->poll_output(pair.now));
  EXPECT_FALSE(pair.client->next_timeout());
}

TEST(Doq, AlwaysRetryCostsExactlyOneRoundTrip) {
  World world;
  world.server.quic.retry = quic::RetryPolicy::Always;
  auto pair = world.pair();
  pair.client->submit(query_for("example.com."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<ResponseReceived>());
  EXPECT_EQ(pair.time_of<ResponseReceived>(), 120ms) << pair.link.transcript();
  EXPECT_TRUE(pair.find<HandshakeCompleted>()->retry);
}

TEST(Doq, ResumedQueryGoesAsEarlyDataAndIsAnsweredAfterOneRoundTrip) {
  World world;
  const std::shared_ptr<DatagramServer> server = make_doq_server(world.server);
  DatagramPair first(make_doq_client(world.client, Timestamp{1h}).value(), server);
  first.client->submit(query_for("example.com."));
  first.client->start(first.now);
  ASSERT_TRUE(first.run_to<ResponseReceived>());
  ASSERT_TRUE(first.run([&] { return first.find<TicketReceived>() && first.find<TokenReceived>(); }));

  world.client.ticket = *first.find<TicketReceived>();
  world.client.token = first.find<TokenReceived>()->token;
  DatagramPair second(make_doq_client(world.client, first.now).value(), server, {}, first.now);
  second.client->submit(query_for("example.org."));
  second.client->start(second.now);
  ASSERT_TRUE(second.run_to<ResponseReceived>()) << second.link.transcript();
  EXPECT_EQ(second.time_of<ResponseReceived>(), 40ms) << second.link.transcript();
  ASSERT_TRUE(second.run_to<HandshakeCompleted>());
  EXPECT_EQ(second.find<HandshakeCompleted>()->info.early_data, tls::EarlyData::Accepted);
  ASSERT_EQ(second.queries.size(), 1u);
  EXPECT_TRUE(second.queries[0].early_data);
}

TEST(Doq, RejectedEarlyQueryIsDeliveredOnce) {
  World world;
  auto first = world.pair();
  first.client->submit(query_for("example.com."));
  first.client->start(first.now);
  ASSERT_TRUE(first.run([&] { return first.find<TicketReceived>() && first.find<ResponseReceived>(); }));

  // Another server: its ticket keys differ.
  world.server.tls = std::make_shared<tls::ServerContext>(test::server_tls_options("doq"));
  world.client.ticket = *first.find<TicketReceived>();
  auto second = world.pair();
  const auto a = second.client->submit(query_for("a.example."));
  const auto b = second.client->submit(query_for("b.example."));
  second.client->start(second.now);
  ASSERT_TRUE(second.run_to<ResponseReceived>(2)) << second.link.transcript();
  second.run_for(5s);
  EXPECT_EQ(second.find<HandshakeCompleted>()->info.early_data, tls::EarlyData::Rejected);
  ASSERT_EQ(second.queries.size(), 2u);
  EXPECT_FALSE(second.queries[0].early_data);
  EXPECT_EQ(second.count<ResponseReceived>(), 2u);
  EXPECT_EQ(second.time_of<ResponseReceived>(1), 80ms) << second.link.transcript();
  EXPECT_EQ(second.find<ResponseReceived>(0)->query, a);
  EXPECT_EQ(second.find<ResponseReceived>(1)->query, b);
}

TEST(Doq, UpdateWaitsForTheHandshakeInsteadOfGoingEarly) {
  World world;
  const std::shared_ptr<DatagramServer> server = make_doq_server(world.server);
  DatagramPair first(make_doq_client(world.client, Timestamp{1h}).value(), server);
  first.client->submit(query_for("example.com."));
  first.client->start(first.now);
  ASSERT_TRUE(first.run([&] { return first.find<TicketReceived>() != nullptr; }));
  world.client.ticket = *first.find<TicketReceived>();
  DatagramPair second(make_doq_client(world.client, first.now).value(), server, {}, first.now);
  Bytes update = query_for("example.com.");
  update[2] = static_cast<std::uint8_t>((update[2] & ~0x78) | 5 << 3);
  second.client->submit(update);
  second.client->start(second.now);
  ASSERT_TRUE(second.run([&] { return !second.queries.empty(); }));
  EXPECT_FALSE(second.queries[0].early_data);
  EXPECT_EQ(second.now - second.started, 60ms);
}

TEST(Doq, EarlyUpdateOfAnotherClientIsHeldUntilTheHandshakeIsDone) {
  World world;
  const std::shared_ptr<DatagramServer> server = make_doq_server(world.server);
  DatagramPair first(make_doq_client(world.client, Timestamp{1h}).value(), server);
  first.client->submit(query_for("example.com."));
  first.client->start(first.now);
  ASSERT_TRUE(first.run([&] { return first.find<TicketReceived>() != nullptr; }));
  const TicketReceived ticket = *first.find<TicketReceived>();
  auto raw = std::make_unique<test::RawQuicClient>(*world.client.tls, quic::Options{}, "doq", first.now,
                                                   &ticket.ticket, ticket.transport_parameters);
  Bytes update = plain_query();
  update[2] = 5 << 3;
  const auto stream = raw->connection->open_bidirectional();
  ASSERT_TRUE(stream);
  raw->connection->write(*stream, framed(update), true);
  DatagramPair second(std::move(raw), server, {}, first.now);
  ASSERT_TRUE(second.run([&] { return !second.queries.empty(); }));
  EXPECT_TRUE(second.queries[0].early_data);
  EXPECT_EQ(second.now - second.started, 60ms);  // 20 ms would be 0-RTT
}

TEST(Doq, ManyQueriesShareAConnectionAndKeepTheirIds) {
  World world;
  auto pair = world.pair();
  std::map<QueryHandle, Bytes> sent;
  for (std::uint16_t i = 0; i < 250; ++i) {
    const Bytes query =
        query_for("q" + std::to_string(i) + ".example.", static_cast<std::uint16_t>(1000 + i));
    sent[pair.client->submit(query)] = query;
  }
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<ResponseReceived>(250)) << pair.link.transcript();
  for (std::size_t i = 0; i < 250; ++i) {
    const auto* response = pair.find<ResponseReceived>(i);
    EXPECT_EQ(response->message, test::response_to(sent.at(response->query)));
  }
  EXPECT_EQ(pair.count<QueryFailed>(), 0u);
}

TEST(Doq, AnswerLargerThanTheWindowWaitsAndOthersGoOn) {
  World world;
  world.client.quic.stream_window_bytes = 64;
  auto pair = world.pair();
  pair.handler = [](const IncomingQuery& query) {
    Bytes answer = test::response_to(query.message);
    if (dns::parse_message(query.message)->question->name.starts_with("big")) answer.resize(60'000);
    return std::optional(answer);
  };
  const auto big = pair.client->submit(query_for("big.example."));
  const auto small = pair.client->submit(query_for("small.example."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<ResponseReceived>(2, 600s));
  EXPECT_EQ(pair.find<ResponseReceived>(0)->query, small);
  EXPECT_EQ(pair.find<ResponseReceived>(1)->query, big);
  EXPECT_EQ(pair.find<ResponseReceived>(1)->message.size(), 60'000u);
}

TEST(Doq, LargestMessageArrivesWhole) {
  World world;
  auto pair = world.pair();
  pair.handler = [](const IncomingQuery& query) {
    Bytes answer = test::response_to(query.message);
    answer.resize(65'535);
    return std::optional(answer);
  };
  pair.client->submit(query_for("example.com."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<ResponseReceived>());
  EXPECT_EQ(pair.find<ResponseReceived>()->message.size(), 65'535u);
}

TEST(Doq, CloseSendsNoErrorAndFailsOpenQueries) {
  World world;
  auto pair = world.pair();
  pair.handler = [](const IncomingQuery&) { return std::nullopt; };
  pair.client->submit(query_for("example.com."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run([&] { return !pair.queries.empty(); }));
  pair.client->close(pair.now);
  ASSERT_TRUE(pair.run_to<Closed>());
  EXPECT_TRUE(pair.find<Closed>()->clean);
  EXPECT_EQ(pair.count<QueryFailed>(), 1u);
  pair.run_for(60s);
  // Its answer is for nobody; it must not hurt.
  pair.server->answer(pair.queries[0].handle, test::response_to(pair.queries[0].message), pair.now);
  EXPECT_FALSE(pair.server->poll_output(pair.now));
  EXPECT_FALSE(pair.server->next_timeout());
}

TEST(Doq, ServerCloseIsCleanForAnIdleClient) {
  World world;
  auto pair = world.pair();
  pair.client->submit(query_for("example.com."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<ResponseReceived>());
  pair.server->close(pair.now);
  ASSERT_TRUE(pair.run_to<Closed>());
  EXPECT_TRUE(pair.find<Closed>()->clean) << pair.find<Closed>()->reason;
}

TEST(Doq, WrongCertificateNameIsRefusedWithTheReason) {
  World world;
  world.client.server_name = "other.doxlab.test";
  auto pair = world.pair();
  pair.client->submit(query_for("example.com."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<Closed>());
  EXPECT_FALSE(pair.find<Closed>()->clean);
  EXPECT_NE(pair.find<Closed>()->reason.find("certificate"), std::string::npos)
      << pair.find<Closed>()->reason;
  EXPECT_EQ(pair.count<QueryFailed>(), 1u);
}

TEST(Doq, UnansweringServerEndsInAHandshakeTimeout) {
  World world;
  world.client.quic.handshake_timeout = 3s;
  auto pair = world.pair();
  pair.link.drop = [](link::Direction, std::size_t, BytesView) { return true; };
  pair.client->submit(query_for("example.com."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<Closed>());
  EXPECT_EQ(pair.time_of<Closed>(), 3s);
  EXPECT_EQ(pair.find<Closed>()->reason, "handshake timeout");
}

TEST(Doq, OptionsThatQuicRefusesAreErrors) {
  World world;
  world.client.quic.datagram_bytes = 1199;
  EXPECT_FALSE(make_doq_client(world.client, Timestamp{}));
  world.server.quic.connection.version = 3;
  EXPECT_THROW(make_doq_server(world.server), std::runtime_error);
}

TEST(Doq, QueriesThatMustNotBeSentFailAtOnce) {
  World world;
  auto pair = world.pair();
  pair.client->submit(Bytes(11));
  pair.client->submit(Bytes(65'536));
  pair.client->submit(with_keepalive(plain_query()));
  pair.flush();
  EXPECT_EQ(pair.count<QueryFailed>(), 3u);
}

TEST(DoqClient, QueriesWaitForTheServersStreamLimit) {
  World world;
  world.server.limits.queries_in_flight = 2;
  auto pair = world.pair();
  for (int i = 0; i < 7; ++i) pair.client->submit(query_for("q" + std::to_string(i) + ".example."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<ResponseReceived>(7)) << pair.link.transcript();
}

TEST(DoqClient, IdleConnectionEndsCleanlyAtTheIdleTimeout) {
  World world;
  world.client.quic.max_idle_timeout = 4s;
  auto pair = world.pair();
  pair.client->submit(query_for("example.com."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<ResponseReceived>());
  ASSERT_TRUE(pair.run_to<Closed>());
  EXPECT_TRUE(pair.find<Closed>()->clean);
  EXPECT_GE(pair.time_of<Closed>(), 4s);
  EXPECT_LT(pair.time_of<Closed>(), 5s);
}

}  // namespace
}  // namespace doxlab::transport
