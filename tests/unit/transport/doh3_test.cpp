#include "transport/doh3/doh3.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "dns/message.hpp"
#include "http/h3.hpp"
#include "support/datagram_pair.hpp"
#include "support/raw_quic.hpp"
#include "support/tls_contexts.hpp"
#include "unit/http/h3_frames.hpp"

namespace doxlab::transport {
namespace {

using namespace http::test3;
using test::DatagramPair;
using ::testing::HasSubstr;

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
    server.tls = std::make_shared<tls::ServerContext>(test::server_tls_options("h3"));
  }

  DatagramPair pair(link::Impairments impairments = {}) const {
    return {make_doh3_client(client, Timestamp{1h}).value(), make_doh3_server(server),
            std::move(impairments)};
  }
};

TEST(Doh3, ColdQueryIsAnsweredAfterTwoRoundTrips) {
  for (const HttpMethod method : {HttpMethod::Post, HttpMethod::Get}) {
    World world;
    world.client.method = method;
    auto pair = world.pair();
    const auto handle = pair.client->submit(query_for("example.com."));
    pair.client->start(pair.now);
    ASSERT_TRUE(pair.run_to<ResponseReceived>()) << pair.link.transcript();
    EXPECT_EQ(pair.find<ResponseReceived>()->query, handle);
    EXPECT_EQ(pair.find<ResponseReceived>()->message, test::response_to(query_for("example.com.")));
    EXPECT_EQ(pair.time_of<HandshakeCompleted>(), 40ms) << pair.link.transcript();
    EXPECT_EQ(pair.time_of<ResponseReceived>(), 80ms) << pair.link.transcript();
    ASSERT_EQ(pair.queries.size(), 1u);
    EXPECT_EQ(dns::message_id(pair.queries[0].message), 0);
    EXPECT_FALSE(pair.queries[0].early_data);
    EXPECT_EQ(pair.find<HandshakeCompleted>()->info.alpn, "h3");
  }
}

TEST(Doh3, ManyQueriesShareOneConnection) {
  World world;
  auto pair = world.pair();
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<HandshakeCompleted>());
  std::map<std::uint64_t, std::string> asked;
  for (int i = 0; i < 500; ++i) {
    const std::string name = "n" + std::to_string(i) + ".example.";
    asked[pair.client->submit(query_for(name, static_cast<std::uint16_t>(i))).value] = name;
  }
  ASSERT_TRUE(pair.run_to<ResponseReceived>(500)) << pair.count<ResponseReceived>();
  for (const auto& event : pair.events) {
    const auto* response = std::get_if<ResponseReceived>(&event);
    if (response == nullptr) continue;
    const auto message = dns::parse_message(response->message);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->question->name, asked[response->query.value]);
    EXPECT_EQ(message->id, response->query.value - 1) << "the submitted ID comes back";
  }
  EXPECT_EQ(pair.count<QueryFailed>(), 0u);
}

TicketReceived ticket_from(World& world) {
  auto pair = world.pair();
  pair.client->submit(query_for("example.com."));
  pair.client->start(pair.now);
  EXPECT_TRUE(pair.run_to<TicketReceived>());
  return *pair.find<TicketReceived>();
}

TEST(Doh3, EarlyDataIsAnsweredAfterOneRoundTrip) {
  World world;
  world.client.ticket = ticket_from(world);
  auto pair = world.pair();
  pair.client->submit(query_for("example.com."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<ResponseReceived>()) << pair.link.transcript();
  EXPECT_EQ(pair.time_of<ResponseReceived>(), 40ms) << pair.link.transcript();
  ASSERT_EQ(pair.queries.size(), 1u);
  EXPECT_TRUE(pair.queries[0].early_data);
  pair.client->submit(query_for("later.example."));
  ASSERT_TRUE(pair.run_to<ResponseReceived>(2));
  EXPECT_FALSE(pair.queries[1].early_data);
}

TEST(Doh3, RefusedEarlyDataIsAnsweredOnceAfterTheHandshake) {
  World giving;
  World world;  // another server: other ticket keys
  world.client.tls = giving.client.tls;
  world.client.ticket = ticket_from(giving);
  auto pair = world.pair();
  pair.client->submit(query_for("example.com."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<ResponseReceived>()) << pair.link.transcript();
  EXPECT_EQ(pair.find<HandshakeCompleted>()->info.early_data, tls::EarlyData::Rejected);
  ASSERT_EQ(pair.queries.size(), 1u);
  EXPECT_FALSE(pair.queries[0].early_data);
}

TEST(Doh3, UpdatesWaitForTheHandshakeEvenWithEarlyData) {
  World world;
  world.client.ticket = ticket_from(world);
  auto pair = world.pair();
  Bytes update = query_for("example.com.");
  update[2] = static_cast<std::uint8_t>(update[2] | 5 << 3);
  pair.client->submit(update);
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run([&] { return !pair.queries.empty(); }));
  EXPECT_FALSE(pair.queries[0].early_data);
}

TEST(Doh3, AnswersOfAnySizeSurviveLoss) {
  World world;
  auto pair = world.pair();
  std::size_t size = 0;
  pair.handler = [&](const IncomingQuery& query) {
    Bytes answer = test::response_to(query.message);
    answer.resize(std::max(answer.size(), size), 0x5a);
    return std::optional(answer);
  };
  std::size_t sent = 0;
  pair.link.drop = [&](link::Direction, std::size_t, BytesView) { return ++sent % 7 == 0; };
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<HandshakeCompleted>());
  std::size_t answers = 0;
  for (const std::size_t wanted : {0u, 100u, 1200u, 5000u, 65535u}) {
    size = wanted;
    const Bytes asked = query_for("example.com.");
    pair.client->submit(asked);
    ASSERT_TRUE(pair.run_to<ResponseReceived>(++answers)) << wanted;
    const Bytes& got = pair.find<ResponseReceived>(answers - 1)->message;
    EXPECT_EQ(got.size(), std::max(asked.size(), wanted));
  }
}

TEST(Doh3, WrongNameFailsTheQueriesWithTheReason) {
  World world;
  world.client.server_name = "other.doxlab.test";
  auto pair = world.pair();
  pair.client->submit(query_for("example.com."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<Closed>());
  EXPECT_THAT(pair.find<QueryFailed>()->reason, HasSubstr("hostname mismatch"));
  EXPECT_FALSE(pair.find<Closed>()->clean);
}

TEST(Doh3, EitherEndClosesCleanly) {
  World world;
  for (const bool by_client : {true, false}) {
    auto pair = world.pair();
    pair.client->submit(query_for("example.com."));
    pair.client->start(pair.now);
    ASSERT_TRUE(pair.run_to<ResponseReceived>());
    if (by_client) {
      pair.client->close(pair.now);
    } else {
      pair.server->close(pair.now);
    }
    ASSERT_TRUE(pair.run_to<Closed>());
    EXPECT_TRUE(pair.find<Closed>()->clean) << pair.find<Closed>()->reason;
    pair.client->submit(query_for("late.example."));
    pair.flush();
    EXPECT_EQ(pair.count<QueryFailed>(), 1u);
  }
}

TEST(Doh3, AnswersThatFindNobodyAreIgnored) {
  World world;
  auto pair = world.pair();
  pair.handler = [](const IncomingQuery&) { return std::nullopt; };
  pair.client->submit(query_for("example.com."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run([&] { return !pair.queries.empty(); }));
  pair.client->close(pair.now);
  pair.run_for(1s);
  pair.server->answer(pair.queries[0].handle, test::response_to(pair.queries[0].message), pair.now);
  pair.server->answer(QueryHandle{999}, test::response_to(pair.queries[0].message), pair.now);
  pair.run_for(1s);
  EXPECT_EQ(pair.count<ResponseReceived>(), 0u);
}

/// A client that says what it likes on QUIC streams to a DoH3 server.
struct RawWorld {
  explicit RawWorld(ServerOptions options = {}) {
    options.tls = std::make_shared<tls::ServerContext>(test::server_tls_options("h3"));
    context = std::make_shared<tls::ClientContext>(test::client_tls_options());
    quic::Options quic;
    quic.max_streams_uni = 3;
    auto client = std::make_unique<test::RawQuicClient>(*context, quic, "h3", Timestamp{1h});
    raw = client.get();
    pair = std::make_unique<DatagramPair>(std::move(client), make_doh3_server(options));
    EXPECT_TRUE(pair->run([&] { return raw->connection->handshake_completed(); }));
  }
  quic::StreamId request(const Bytes& data, bool fin = true) {
    const auto stream = raw->connection->open_bidirectional();
    EXPECT_TRUE(stream);
    raw->connection->write(stream.value_or(0), data, fin);
    return stream.value_or(0);
  }
  quic::StreamId uni(const Bytes& data) {
    const auto stream = raw->connection->open_unidirectional();
    EXPECT_TRUE(stream);
    raw->connection->write(stream.value_or(2), data, false);
    return stream.value_or(2);
  }
  const quic::Closed* closed() const { return raw->find<quic::Closed>(); }

  std::shared_ptr<tls::ClientContext> context;
  test::RawQuicClient* raw = nullptr;
  std::unique_ptr<DatagramPair> pair;
};

TEST(Doh3Hostile, ServerOpensItsThreeStreamsWithSettingsFirst) {
  RawWorld world;
  world.pair->run_for(1s);
  EXPECT_THAT(to_hex(world.raw->received(3)), ::testing::StartsWith("0004"));
  EXPECT_EQ(to_hex(world.raw->received(7)).substr(0, 2), "02");
  EXPECT_EQ(to_hex(world.raw->received(11)).substr(0, 2), "03");
}

TEST(Doh3Hostile, ABrokenRuleClosesTheConnectionWithItsCode) {
  RawWorld world;
  world.uni(control_stream() + frame(Settings));
  world.pair->run_for(1s);
  ASSERT_NE(world.closed(), nullptr);
  EXPECT_EQ(world.closed()->kind, quic::CloseKind::PeerApplication);
  EXPECT_EQ(world.closed()->code, 0x105u) << "H3_FRAME_UNEXPECTED";
}

TEST(Doh3Hostile, AMalformedRequestIsResetAndTheNextIsServed) {
  RawWorld world;
  world.uni(control_stream());
  const auto bad = world.request(headers({{":method", "GET"}}));
  const auto good = world.request(headers(kGet));
  world.pair->run_for(1s);
  EXPECT_EQ(world.closed(), nullptr);
  ASSERT_NE(world.raw->find<quic::StreamReset>(), nullptr);
  EXPECT_EQ(world.raw->find<quic::StreamReset>()->id, bad);
  EXPECT_EQ(world.raw->find<quic::StreamReset>()->code, 0x10eu) << "H3_MESSAGE_ERROR";
  EXPECT_FALSE(world.raw->received(good).empty());
  EXPECT_EQ(world.pair->queries.size(), 1u);
}

TEST(Doh3Hostile, TooLongBodiesAndHeadersAreAnsweredAndStopped) {
  RawWorld world;
  world.uni(control_stream());
  const auto body = world.request(headers(kPost) + frame(Data, Bytes(70'000)), false);
  Fields many = kGet;
  for (int i = 0; i < 100; ++i) many.push_back({"x", std::string(300, 'x')});
  const auto fields = world.request(headers(many), false);
  world.pair->run_for(5s);
  EXPECT_EQ(world.closed(), nullptr);
  EXPECT_TRUE(world.pair->queries.empty());
  EXPECT_FALSE(world.raw->received(body).empty());
  EXPECT_FALSE(world.raw->received(fields).empty());
}

TEST(Doh3Hostile, CancelledQueriesAreForgotten) {
  RawWorld world;
  world.pair->handler = [](const IncomingQuery&) { return std::nullopt; };
  world.uni(control_stream());
  const auto stream = world.request(headers(kGet), false);
  world.pair->run_for(100ms);
  world.raw->connection->reset(stream, 0x10c);
  world.pair->run_for(1s);
  EXPECT_TRUE(world.pair->queries.empty());
  EXPECT_EQ(world.closed(), nullptr);
  const auto other = world.request(headers(kGet), true);
  world.pair->run_for(100ms);
  ASSERT_EQ(world.pair->queries.size(), 1u);
  world.raw->connection->stop_sending(other, 0x10c);
  world.pair->run_for(1s);
  world.pair->server->answer(world.pair->queries[0].handle, test::response_to(world.pair->queries[0].message),
                             world.pair->now);
  world.pair->run_for(1s);
  EXPECT_TRUE(world.raw->received(other).empty());
  EXPECT_EQ(world.closed(), nullptr);
}

TEST(Doh3Hostile, RapidResetEndsTheConnection) {
  RawWorld world;
  world.uni(control_stream());
  int sent = 0;
  for (; world.closed() == nullptr && sent < 2000; ++sent) {
    const auto stream = world.raw->connection->open_bidirectional();
    if (!stream) {
      world.pair->run_for(100ms);
      continue;
    }
    world.raw->connection->write(*stream, headers(kGet), false);
    world.pair->run_for(25ms);
    world.raw->connection->reset(*stream, 0x10c);
  }
  ASSERT_NE(world.closed(), nullptr);
  EXPECT_EQ(world.closed()->code, 0x107u) << "H3_EXCESSIVE_LOAD";
  EXPECT_LT(sent, 400);
}

TEST(Doh3Hostile, ARequestWithoutEndIsGivenUp) {
  ServerOptions options;
  options.limits.idle_timeout = 2s;
  RawWorld world(options);
  world.uni(control_stream());
  const auto stream = world.request(headers(kPost) + frame(Data, Bytes(20)), false);
  world.pair->run_for(1900ms);
  EXPECT_EQ(world.raw->find<quic::StreamReset>(), nullptr);
  world.pair->run_for(1s);
  ASSERT_NE(world.raw->find<quic::StreamReset>(), nullptr);
  EXPECT_EQ(world.raw->find<quic::StreamReset>()->id, stream);
  EXPECT_EQ(world.raw->find<quic::StreamReset>()->code, 0x10du) << "H3_REQUEST_INCOMPLETE";
  EXPECT_EQ(world.closed(), nullptr);
}

TEST(Doh3Hostile, AnswersThatAreNotReadAreCapped) {
  ServerOptions options;
  options.limits.queued_output_bytes = 100'000;
  options.tls = std::make_shared<tls::ServerContext>(test::server_tls_options("h3"));
  const auto context = std::make_shared<tls::ClientContext>(test::client_tls_options());
  quic::Options narrow;
  narrow.max_streams_uni = 3;
  narrow.stream_window_bytes = 1000;
  narrow.connection_window_bytes = 2000;
  auto client = std::make_unique<test::RawQuicClient>(*context, narrow, "h3", Timestamp{1h});
  auto* raw = client.get();
  DatagramPair pair(std::move(client), make_doh3_server(options));
  pair.handler = [](const IncomingQuery& query) {
    Bytes answer = test::response_to(query.message);
    answer.resize(10'000);
    return std::optional(answer);
  };
  ASSERT_TRUE(pair.run([&] { return raw->connection->handshake_completed(); }));
  for (int i = 0; i < 50 && raw->find<quic::Closed>() == nullptr; ++i) {
    const auto stream = raw->connection->open_bidirectional();
    ASSERT_TRUE(stream);
    raw->connection->write(*stream, headers(kGet), true);
    pair.run_for(50ms);
  }
  ASSERT_NE(raw->find<quic::Closed>(), nullptr);
  EXPECT_EQ(raw->find<quic::Closed>()->code, 0x107u);
  EXPECT_LE(pair.queries.size(), 12u);
}

TEST(Doh3BadServer, BrokenRulesFailTheQueryWithAReason) {
  const auto run = [](std::function<void(quic::Connection&, quic::StreamId)> respond) {
    World world;
    quic::EndpointOptions options;
    options.connection.max_streams_uni = 3;
    auto handler = [&](quic::Connection& connection, quic::Event& event, Timestamp) {
      auto* data = std::get_if<quic::StreamData>(&event);
      if (data != nullptr && data->id == 0 && data->fin) respond(connection, 0);
    };
    DatagramPair pair(make_doh3_client(world.client, Timestamp{1h}).value(),
                      std::make_shared<test::RawQuicServer>(*world.server.tls, options, handler));
    pair.client->submit(query_for("example.com."));
    pair.client->start(pair.now);
    pair.run([&] { return pair.count<QueryFailed>() + pair.count<ResponseReceived>() > 0; }, 5s);
    const auto* failed = pair.find<QueryFailed>();
    return failed != nullptr ? failed->reason : std::string("(nothing)");
  };
  EXPECT_EQ(run([](quic::Connection& c, quic::StreamId s) {
              c.write(s, headers({{":status", "500"}}), true);
            }),
            "HTTP status 500");
  EXPECT_EQ(run([](quic::Connection& c, quic::StreamId s) {
              c.write(s, headers({{":status", "200"}}) + frame(Data, Bytes(40)), true);
            }),
            "response is not application/dns-message");
  EXPECT_THAT(run([](quic::Connection& c, quic::StreamId s) {
                c.write(s, headers({{":status", "200"}}) + frame(Data, Bytes(70'000)), true);
              }),
              HasSubstr("longer than any DNS message"));
  EXPECT_THAT(
      run([](quic::Connection& c, quic::StreamId s) {
        c.write(s, headers({{":status", "200"}, {"content-length", "99"}}) + frame(Data, Bytes(40)), true);
      }),
      HasSubstr("malformed"));
  EXPECT_THAT(run([](quic::Connection& c, quic::StreamId s) { c.reset(s, 0x10b); }), HasSubstr("0x10b"));
  EXPECT_THAT(run([](quic::Connection& c, quic::StreamId s) { c.write(s, frame(Data, Bytes(40)), true); }),
              HasSubstr("HTTP/3"));
}

}  // namespace
}  // namespace doxlab::transport
