// DoQ ends against peers that break RFC 9250's rules.
#include <gtest/gtest.h>

#include <functional>

#include "unit/transport/doq_world.hpp"

namespace doxlab::transport {
namespace {

using test::DatagramPair;
using World = DoqWorld;

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
                [](quic::Connection& c) { c.write(*c.open_bidirectional(), framed(plain_query(7)), true); },
                2},
        Misdeed{"FinBeforeTheWholeMessage",
                [](quic::Connection& c) {
                  Bytes part = framed(plain_query());
                  part.pop_back();
                  c.write(*c.open_bidirectional(), part, true);
                },
                2},
        Misdeed{"FinInsideTheLength",
                [](quic::Connection& c) { c.write(*c.open_bidirectional(), Bytes{0}, true); }, 2},
        Misdeed{"FinWithoutAByte", [](quic::Connection& c) { c.write(*c.open_bidirectional(), {}, true); },
                2},
        Misdeed{"TrailingBytes",
                [](quic::Connection& c) {
                  Bytes more = framed(plain_query());
                  more.push_back(0);
                  c.write(*c.open_bidirectional(), more, true);
                },
                2},
        Misdeed{"SecondQuery",
                [](quic::Connection& c) {
                  const auto stream = *c.open_bidirectional();
                  c.write(stream, framed(plain_query()), false);
                  c.write(stream, framed(plain_query()), true);
                },
                2},
        Misdeed{"Keepalive",
                [](quic::Connection& c) {
                  c.write(*c.open_bidirectional(), framed(with_keepalive(plain_query())), true);
                },
                2},
        Misdeed{"EmptyMessage",
                [](quic::Connection& c) {
                  c.write(*c.open_bidirectional(), Bytes{0, 0}, true);
                },
                2},
        Misdeed{"HalfAQueryForEver",
                [](quic::Connection& c) {
                  c.write(*c.open_bidirectional(), Bytes{0, 40, 0}, false);
                },
                2},
        Misdeed{"NoFin",
                [](quic::Connection& c) { c.write(*c.open_bidirectional(), framed(plain_query()), false); },
                2}),
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

INSTANTIATE_TEST_SUITE_P(Servers, DoqClientAgainst,
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
                                         BadAnswer{"NoAnswer", [](quic::Connection& c, quic::StreamId id,
                                                                  Bytes) { c.write(id, {}, true); }},
                                         BadAnswer{"Keepalive",
                                                   [](quic::Connection& c, quic::StreamId id, Bytes query) {
                                                     c.write(id,
                                                             framed(with_keepalive(test::response_to(query))),
                                                             true);
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
  ASSERT_TRUE(
      pair.run([&] { return pair.count<QueryFailed>() == 1 && pair.count<ResponseReceived>() == 1; }));
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

}  // namespace
}  // namespace doxlab::transport
