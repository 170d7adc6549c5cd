#include "transport/doq/doq.hpp"

#include <gtest/gtest.h>

#include "dns/message.hpp"
#include "dns/scan.hpp"
#include "support/datagram_pair.hpp"
#include "support/raw_quic.hpp"
#include "support/tls_contexts.hpp"

namespace doxlab::transport {
namespace {

using test::DatagramPair;

Bytes query_for(std::string_view name, std::uint16_t id = 0x1234) {
  return *dns::compose_query(name, 1, {.id = id});
}

struct World {
  ClientOptions client;
  ServerOptions server;

  World() {
    client.tls = std::make_shared<tls::ClientContext>(test::client_tls_options());
    client.server_name = test::kServerName;
    client.local = test::client_address();
    client.remote = test::server_address();
    server.tls = std::make_shared<tls::ServerContext>(test::server_tls_options("doq"));
  }

  DatagramPair pair(link::Impairments impairments = {}) const {
    return {make_doq_client(client, Timestamp{1h}).value(), make_doq_server(server), std::move(impairments)};
  }
};

Bytes framed(BytesView message) {
  Bytes out = {static_cast<std::uint8_t>(message.size() >> 8), static_cast<std::uint8_t>(message.size())};
  out.insert(out.end(), message.begin(), message.end());
  return out;
}

Bytes with_keepalive(Bytes message) {
  // An OPT record with option 11 of length 0, and ARCOUNT 1; the message has no OPT of its own.
  const Bytes opt = {0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 4, 0, 11, 0, 0};
  message.insert(message.end(), opt.begin(), opt.end());
  message[11] = 1;
  return message;
}

Bytes plain_query(std::uint16_t id = 0) { return *dns::compose_query("example.com.", 1, {.id = id, .edns = false}); }

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
  auto raw = std::make_unique<test::RawQuicClient>(*world.client.tls, quic::Options{}, "doq", first.now, &ticket.ticket,
                                                   ticket.transport_parameters);
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
    const Bytes query = query_for("q" + std::to_string(i) + ".example.", static_cast<std::uint16_t>(1000 + i));
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
  EXPECT_NE(pair.find<Closed>()->reason.find("certificate"), std::string::npos) << pair.find<Closed>()->reason;
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
  world.client.quic = {};
  world.client.quic.initial_window_packets = 20;
  const auto refused = make_doq_client(world.client, Timestamp{});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("initial_window_packets"), std::string::npos);
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

/// What a client does on its stream, and the error code that the server closes with.
struct Misdeed {
  const char* name;
  std::function<void(quic::Connection&)> deed;
  std::uint64_t code;
};

class DoqServerAgainst : public testing::TestWithParam<Misdeed> {};

TEST_P(DoqServerAgainst, ClosesWithTheCode) {
  World world;
  auto raw = std::make_unique<test::RawQuicClient>(*world.client.tls, quic::Options{}, "doq", Timestamp{1h});
  auto& client = *raw;
  client.on_event = [&](quic::Event& event) {
    if (std::holds_alternative<quic::HandshakeCompleted>(event)) GetParam().deed(*client.connection);
  };
  DatagramPair pair(std::move(raw), make_doq_server(world.server));
  ASSERT_TRUE(pair.run([&] { return client.find<quic::Closed>() != nullptr; })) << pair.link.transcript();
  EXPECT_EQ(client.find<quic::Closed>()->kind, quic::CloseKind::PeerApplication);
  EXPECT_EQ(client.find<quic::Closed>()->code, GetParam().code);
}

INSTANTIATE_TEST_SUITE_P(
    Clients, DoqServerAgainst,
    testing::Values(
        Misdeed{"NonzeroMessageId",
                [](quic::Connection& c) { c.write(*c.open_bidirectional(), framed(plain_query(7)), true); }, 2},
        Misdeed{"FinBeforeTheWholeMessage",
                [](quic::Connection& c) {
                  Bytes part = framed(plain_query());
                  part.pop_back();
                  c.write(*c.open_bidirectional(), part, true);
                }, 2},
        Misdeed{"FinInsideTheLength", [](quic::Connection& c) { c.write(*c.open_bidirectional(), Bytes{0}, true); }, 2},
        Misdeed{"FinWithoutAByte", [](quic::Connection& c) { c.write(*c.open_bidirectional(), {}, true); }, 2},
        Misdeed{"TrailingBytes",
                [](quic::Connection& c) {
                  Bytes more = framed(plain_query());
                  more.push_back(0);
                  c.write(*c.open_bidirectional(), more, true);
                }, 2},
        Misdeed{"SecondQuery",
                [](quic::Connection& c) {
                  const auto stream = *c.open_bidirectional();
                  c.write(stream, framed(plain_query()), false);
                  c.write(stream, framed(plain_query()), true);
                }, 2},
        Misdeed{"Keepalive",
                [](quic::Connection& c) { c.write(*c.open_bidirectional(), framed(with_keepalive(plain_query())), true); },
                2},
        Misdeed{"EmptyMessage", [](quic::Connection& c) { c.write(*c.open_bidirectional(), Bytes{0, 0}, true); }, 2},
        Misdeed{"HalfAQueryForEver",
                [](quic::Connection& c) { c.write(*c.open_bidirectional(), Bytes{0, 40, 0}, false); }, 2},
        Misdeed{"NoFin",
                [](quic::Connection& c) { c.write(*c.open_bidirectional(), framed(plain_query()), false); }, 2}),
    [](const auto& param) { return param.param.name; });

TEST(DoqServer, EveryCutOfAQueryIsFine) {
  World world;
  const Bytes wire = framed(plain_query());
  auto raw = std::make_unique<test::RawQuicClient>(*world.client.tls, quic::Options{}, "doq", Timestamp{1h});
  auto& client = *raw;
  DatagramPair pair(std::move(raw), make_doq_server(world.server));
  ASSERT_TRUE(pair.run([&] { return client.find<quic::HandshakeCompleted>() != nullptr; }));
  for (std::size_t cut = 1; cut < wire.size(); ++cut) {
    const auto stream = client.connection->open_bidirectional();
    ASSERT_TRUE(stream);
    client.connection->write(*stream, BytesView(wire).first(cut), false);
    pair.run_for(50ms);
    client.connection->write(*stream, BytesView(wire).subspan(cut), true);
    ASSERT_TRUE(pair.run([&] { return client.received(*stream).size() == wire.size(); })) << "cut at " << cut;
  }
  EXPECT_EQ(client.find<quic::Closed>(), nullptr);
}

TEST(DoqServer, UnidirectionalStreamsAreNotAllowed) {
  World world;
  auto raw = std::make_unique<test::RawQuicClient>(*world.client.tls, quic::Options{}, "doq", Timestamp{1h});
  auto& client = *raw;
  DatagramPair pair(std::move(raw), make_doq_server(world.server));
  ASSERT_TRUE(pair.run([&] { return client.find<quic::HandshakeCompleted>() != nullptr; }));
  EXPECT_FALSE(client.connection->open_unidirectional());
}

TEST(DoqServer, ResetOfAQueryStopsTheWorkAndResetsTheAnswer) {
  World world;
  auto raw = std::make_unique<test::RawQuicClient>(*world.client.tls, quic::Options{}, "doq", Timestamp{1h});
  auto& client = *raw;
  DatagramPair pair(std::move(raw), make_doq_server(world.server));
  pair.handler = [](const IncomingQuery&) { return std::nullopt; };
  ASSERT_TRUE(pair.run([&] { return client.find<quic::HandshakeCompleted>() != nullptr; }));
  const auto stream = *client.connection->open_bidirectional();
  client.connection->write(stream, framed(plain_query()), false);
  ASSERT_TRUE(pair.run([&] { return !pair.queries.empty(); }));
  client.connection->reset(stream, 3);
  ASSERT_TRUE(pair.run([&] { return client.find<quic::StreamReset>() != nullptr; }));
  EXPECT_EQ(client.find<quic::StreamReset>()->code, 3u);
  pair.server->answer(pair.queries[0].handle, test::response_to(pair.queries[0].message), pair.now);
  pair.run_for(1s);
  EXPECT_TRUE(client.received(stream).empty());
}

TEST(DoqServer, StopSendingAbandonsTheQuery) {
  World world;
  auto raw = std::make_unique<test::RawQuicClient>(*world.client.tls, quic::Options{}, "doq", Timestamp{1h});
  auto& client = *raw;
  DatagramPair pair(std::move(raw), make_doq_server(world.server));
  pair.handler = [](const IncomingQuery&) { return std::nullopt; };
  ASSERT_TRUE(pair.run([&] { return client.find<quic::HandshakeCompleted>() != nullptr; }));
  const auto stream = *client.connection->open_bidirectional();
  client.connection->write(stream, framed(plain_query()), true);
  ASSERT_TRUE(pair.run([&] { return !pair.queries.empty(); }));
  client.connection->stop_sending(stream, 3);
  ASSERT_TRUE(pair.run([&] { return client.find<quic::StreamClosed>() != nullptr; }));
  pair.server->answer(pair.queries[0].handle, test::response_to(pair.queries[0].message), pair.now);
  pair.run_for(1s);
  EXPECT_TRUE(client.received(stream).empty());
  EXPECT_EQ(client.find<quic::Closed>(), nullptr);
}

TEST(DoqServer, ThousandsOfCancelsEndInExcessiveLoad) {
  World world;
  auto raw = std::make_unique<test::RawQuicClient>(*world.client.tls, quic::Options{}, "doq", Timestamp{1h});
  auto& client = *raw;
  DatagramPair pair(std::move(raw), make_doq_server(world.server));
  pair.handler = [](const IncomingQuery&) { return std::nullopt; };
  ASSERT_TRUE(pair.run([&] { return client.find<quic::HandshakeCompleted>() != nullptr; }));
  for (int i = 0; i < 3000 && client.find<quic::Closed>() == nullptr; ++i) {
    if (const auto stream = client.connection->open_bidirectional()) {
      client.connection->write(*stream, framed(plain_query()), false);
      client.connection->reset(*stream, 3);
    }
    pair.run_for(1ms);
  }
  ASSERT_NE(client.find<quic::Closed>(), nullptr);
  EXPECT_EQ(client.find<quic::Closed>()->code, 4u);
}

/// What a server answers with, and whether the client then closes with DOQ_PROTOCOL_ERROR.
struct BadAnswer {
  const char* name;
  std::function<void(quic::Connection&, quic::StreamId, Bytes query)> answer;
};

class DoqClientAgainst : public testing::TestWithParam<BadAnswer> {};

TEST_P(DoqClientAgainst, ClosesWithProtocolError) {
  World world;
  auto server = std::make_shared<test::RawQuicServer>(
      *world.server.tls, quic::EndpointOptions{}, [](quic::Connection& c, quic::Event& event, Timestamp) {
        if (auto* data = std::get_if<quic::StreamData>(&event)) {
          GetParam().answer(c, data->id, Bytes(data->data.begin() + 2, data->data.end()));
        }
      });
  DatagramPair pair(make_doq_client(world.client, Timestamp{1h}).value(), server);
  pair.client->submit(plain_query(99));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run([&] { return server->find<quic::Closed>() != nullptr; })) << pair.link.transcript();
  EXPECT_EQ(server->find<quic::Closed>()->kind, quic::CloseKind::PeerApplication);
  EXPECT_EQ(server->find<quic::Closed>()->code, 2u);
  EXPECT_FALSE(pair.find<Closed>()->clean);
}

INSTANTIATE_TEST_SUITE_P(
    Servers, DoqClientAgainst,
    testing::Values(BadAnswer{"MessageId",
                              [](quic::Connection& c, quic::StreamId id, Bytes query) {
                                Bytes answer = test::response_to(query);
                                answer[0] = 1;
                                c.write(id, framed(answer), true);
                              }},
                    BadAnswer{"EarlyFin",
                              [](quic::Connection& c, quic::StreamId id, Bytes query) {
                                Bytes part = framed(test::response_to(query));
                                part.pop_back();
                                c.write(id, part, true);
                              }},
                    BadAnswer{"TwoAnswers",
                              [](quic::Connection& c, quic::StreamId id, Bytes query) {
                                c.write(id, framed(test::response_to(query)), false);
                                c.write(id, framed(test::response_to(query)), true);
                              }},
                    BadAnswer{"NoAnswer", [](quic::Connection& c, quic::StreamId id, Bytes) { c.write(id, {}, true); }},
                    BadAnswer{"Keepalive",
                              [](quic::Connection& c, quic::StreamId id, Bytes query) {
                                c.write(id, framed(with_keepalive(test::response_to(query))), true);
                              }}),
    [](const auto& param) { return param.param.name; });

TEST(DoqClient, ResetFailsOneQueryAndOthersGoOn) {
  World world;
  auto server = std::make_shared<test::RawQuicServer>(
      *world.server.tls, quic::EndpointOptions{}, [](quic::Connection& c, quic::Event& event, Timestamp) {
        if (auto* data = std::get_if<quic::StreamData>(&event)) {
          if (data->id == 0) return c.reset(0, 0xd098ea5e);
          c.write(data->id, framed(test::response_to(Bytes(data->data.begin() + 2, data->data.end()))), true);
        }
      });
  DatagramPair pair(make_doq_client(world.client, Timestamp{1h}).value(), server);
  const auto first = pair.client->submit(plain_query(1));
  const auto second = pair.client->submit(plain_query(2));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run([&] { return pair.count<QueryFailed>() == 1 && pair.count<ResponseReceived>() == 1; }));
  EXPECT_EQ(pair.find<QueryFailed>()->query, first);
  EXPECT_NE(pair.find<QueryFailed>()->reason.find("DOQ_UNSPECIFIED_ERROR"), std::string::npos);
  EXPECT_EQ(pair.find<ResponseReceived>()->query, second);
  EXPECT_EQ(pair.count<Closed>(), 0u);
}

TEST(DoqClient, AnswerToAnotherQuestionFails) {
  World world;
  auto pair = world.pair();
  pair.handler = [](const IncomingQuery&) {
    return std::optional(test::response_to(*dns::compose_query("evil.example.", 1, {.id = 0})));
  };
  pair.client->submit(query_for("example.com."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<QueryFailed>());
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
