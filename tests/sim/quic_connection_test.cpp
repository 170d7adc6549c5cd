// Two QUIC ends in virtual time, once the handshake is behind them: streams, limits, ends, and hostile
// datagrams.
#include <gtest/gtest.h>

#include <random>

#include "support/raw_quic.hpp"

namespace doxlab::quic {
namespace {

using link::Direction;
using test::DatagramPair;
using test::RawQuicClient;
using test::RawQuicServer;

constexpr Timestamp kStart{1h};

/// A client and an echoing server with the handshake done.
struct Connected {
  explicit Connected(Options client_options = {}, EndpointOptions server_options = {},
                     link::Impairments path = {}, RawQuicServer::Handler handler = test::echo())
      : server(std::make_shared<RawQuicServer>(server_tls, server_options, std::move(handler))) {
    auto made = std::make_unique<RawQuicClient>(client_tls, client_options, "doq", kStart);
    client = made.get();
    connection = made->connection.get();
    pair = std::make_unique<DatagramPair>(std::move(made), server, std::move(path), kStart);
    EXPECT_TRUE(pair->run([this] { return client->find<HandshakeCompleted>() != nullptr; }));
  }

  bool echoes(StreamId stream, const Bytes& sent, Duration limit = 60s) {
    return pair->run([&] { return client->received(stream).size() >= sent.size(); }, limit) &&
           client->received(stream) == sent;
  }

  tls::ServerContext server_tls{test::server_tls_options("doq")};
  tls::ClientContext client_tls{test::client_tls_options()};
  std::shared_ptr<RawQuicServer> server;
  RawQuicClient* client = nullptr;
  Connection* connection = nullptr;
  std::unique_ptr<DatagramPair> pair;
};

Bytes pattern(std::size_t size, std::uint8_t salt) {
  Bytes out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(i * 31 + salt);
  return out;
}

TEST(QuicStreams, ManyStreamsShareTheConnectionFairly) {
  Connected ends;
  std::vector<StreamId> streams;
  for (std::uint8_t i = 0; i < 20; ++i) {
    streams.push_back(*ends.connection->open_bidirectional());
    ends.connection->write(streams.back(), pattern(20'000, i), true);
  }
  // When the first is whole, each of the others is nearly so.
  ASSERT_TRUE(ends.pair->run([&] {
    return std::ranges::any_of(streams,
                               [&](StreamId s) { return ends.client->received(s).size() == 20'000; });
  }));
  for (const StreamId s : streams) EXPECT_GT(ends.client->received(s).size(), 8'000u) << "stream " << s;
  for (std::uint8_t i = 0; i < 20; ++i) EXPECT_TRUE(ends.echoes(streams[i], pattern(20'000, i)));
}

TEST(QuicStreams, DataLargerThanEveryWindowArrives) {
  Options small;
  small.stream_window_bytes = 3'000;
  small.connection_window_bytes = 5'000;
  EndpointOptions server;
  server.connection = small;
  Connected ends(small, server);
  ends.client->on_event = [&](Event& event) {
    if (const auto* data = std::get_if<StreamData>(&event))
      ends.connection->consumed(data->id, data->data.size());
  };
  std::vector<StreamId> streams;
  for (std::uint8_t i = 0; i < 5; ++i) {
    streams.push_back(*ends.connection->open_bidirectional());
    ends.connection->write(streams.back(), pattern(40'000, i), true);
  }
  for (std::uint8_t i = 0; i < 5; ++i)
    EXPECT_TRUE(ends.echoes(streams[i], pattern(40'000, i), 600s)) << int{i};
  ends.pair->run_for(1s);
  EXPECT_EQ(ends.connection->queued_bytes(), 0u);
}

TEST(QuicStreams, BulkDataSurvivesBurstLoss) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Connected ends;
    link::Impairments path;
    path.seed = seed;
    path.burst = link::GilbertElliott{.p = 0.02, .r = 0.3};
    ends.pair->link = test::VirtualLink(path);
    ends.client->on_event = [&](Event& event) {
      if (const auto* data = std::get_if<StreamData>(&event))
        ends.connection->consumed(data->id, data->data.size());
    };
    const StreamId stream = *ends.connection->open_bidirectional();
    ends.connection->write(stream, pattern(300'000, 1), true);
    ASSERT_TRUE(ends.echoes(stream, pattern(300'000, 1), 600s));
  }
}

TEST(QuicStreams, LimitIsToldAndMoreCanBeOpenedLater) {
  EndpointOptions server;
  server.connection.max_streams_bidi = 3;
  Connected ends({}, server);
  std::vector<StreamId> opened;
  while (const auto stream = ends.connection->open_bidirectional()) opened.push_back(*stream);
  ASSERT_EQ(opened, (std::vector<StreamId>{0, 4, 8}));
  ends.client->seen.clear();
  ends.connection->write(4, Bytes{1}, true);
  ASSERT_TRUE(ends.pair->run([&] { return ends.client->find<StreamsAvailable>() != nullptr; }));
  EXPECT_EQ(ends.connection->open_bidirectional(), 12);
}

TEST(QuicStreams, StreamsEndOnBothSides) {
  Connected ends;
  const StreamId stream = *ends.connection->open_bidirectional();
  ends.connection->write(stream, Bytes{1}, true);
  ASSERT_TRUE(ends.pair->run([&] {
    return ends.client->find<StreamClosed>() != nullptr && ends.server->find<StreamClosed>() != nullptr;
  }));
  ends.connection->write(stream, Bytes{2}, false);  // a dead stream: no effect
  ends.connection->reset(stream, 1);
  ends.connection->stop_sending(stream, 1);
  ends.connection->consumed(stream, 10);
  EXPECT_EQ(ends.client->find<Closed>(), nullptr);
}

TEST(QuicStreams, ResetAndStopSendingCarryTheirCodes) {
  Connected ends({}, {}, {}, [](Connection&, Event&, Timestamp) {});
  const StreamId stream = *ends.connection->open_bidirectional();
  ends.connection->write(stream, Bytes{1}, false);
  ends.pair->run_for(100ms);
  ends.connection->reset(stream, 77);
  ends.connection->stop_sending(stream, 78);
  ASSERT_TRUE(ends.pair->run([&] { return ends.server->find<StreamClosed>() != nullptr; }));
  ASSERT_NE(ends.server->find<StreamReset>(), nullptr);
  EXPECT_EQ(ends.server->find<StreamReset>()->code, 77u);
}

TEST(QuicStreams, StopSendingAloneIsReportedWithItsCode) {
  Connected ends({}, {}, {}, [](Connection&, Event&, Timestamp) {});
  const StreamId stream = *ends.connection->open_bidirectional();
  ends.connection->write(stream, Bytes{1}, true);
  ends.pair->run_for(100ms);
  ends.connection->stop_sending(stream, 78);
  ASSERT_TRUE(ends.pair->run([&] { return ends.server->find<StopSending>() != nullptr; }));
  EXPECT_EQ(ends.server->find<StopSending>()->code, 78u);
}

TEST(QuicPacing, AnswerRightAfterATicketIsNotDelayed) {
  Connected ends;
  // Twenty lookups one after the other, each while the bytes of the last are still in flight.
  for (int i = 0; i < 20; ++i) {
    const Timestamp asked = ends.pair->now;
    const StreamId stream = *ends.connection->open_bidirectional();
    ends.connection->write(stream, pattern(100, 1), true);
    ASSERT_TRUE(ends.echoes(stream, pattern(100, 1)));
    EXPECT_EQ(ends.pair->now - asked, 40ms) << "lookup " << i;
  }
}

TEST(QuicClose, ApplicationCloseTellsCodeAndReason) {
  Connected ends;
  ends.connection->close(42, "enough", ends.pair->now);
  EXPECT_TRUE(ends.connection->is_closed());
  EXPECT_EQ(ends.connection->open_bidirectional(), std::nullopt);
  ASSERT_TRUE(ends.pair->run([&] { return ends.server->find<Closed>() != nullptr; }));
  EXPECT_EQ(ends.server->find<Closed>()->kind, CloseKind::PeerApplication);
  EXPECT_EQ(ends.server->find<Closed>()->code, 42u);
  EXPECT_EQ(ends.server->find<Closed>()->detail, "enough");
  ends.pair->run_for(60s);
  ASSERT_NE(ends.client->find<Closed>(), nullptr);
  EXPECT_EQ(ends.client->find<Closed>()->kind, CloseKind::Local);
  EXPECT_EQ(ends.server->endpoint.connections(), 0u);
  EXPECT_FALSE(ends.connection->next_timeout());
}

TEST(QuicClose, LostCloseIsRepeatedWhenThePeerGoesOnSending) {
  Connected ends({}, {}, {}, [](Connection& c, Event& event, Timestamp) {
    if (const auto* data = std::get_if<StreamData>(&event)) c.write(data->id, pattern(50'000, 0), true);
  });
  const StreamId stream = *ends.connection->open_bidirectional();
  ends.connection->write(stream, Bytes{1}, true);
  ends.pair->run_for(30ms);
  ends.connection->close(1, {}, ends.pair->now);
  const auto lost = ends.connection->poll_datagram(ends.pair->now);
  ASSERT_TRUE(lost);
  EXPECT_FALSE(ends.connection->poll_datagram(ends.pair->now));
  ASSERT_TRUE(ends.pair->run([&] { return ends.server->find<Closed>() != nullptr; }));
  // Ten datagrams came meanwhile; the answers get rarer.
  std::size_t repeats = 0;
  for (const auto& sent : ends.pair->link.log()) repeats += sent.payload == *lost ? 1 : 0;
  EXPECT_GE(repeats, 1u);
  EXPECT_LE(repeats, 5u);
}

TEST(QuicClose, CloseBeforeTheFirstPacketIsSilent) {
  tls::ClientContext context(test::client_tls_options());
  RawQuicClient client(context, {}, "doq", kStart);
  client.connection->close(0, {}, kStart);
  EXPECT_FALSE(client.connection->poll_datagram(kStart));
  EXPECT_FALSE(client.connection->next_timeout());
  EXPECT_TRUE(client.connection->poll_event());
}

TEST(QuicClose, CloseDuringTheHandshakeReachesTheServer) {
  tls::ServerContext server_tls(test::server_tls_options("doq"));
  tls::ClientContext client_tls(test::client_tls_options());
  auto server = std::make_shared<RawQuicServer>(server_tls, EndpointOptions{}, test::echo());
  auto made = std::make_unique<RawQuicClient>(client_tls, Options{}, "doq", kStart);
  auto* client = made.get();
  DatagramPair pair(std::move(made), server, {}, kStart);
  pair.run_for(30ms);
  ASSERT_EQ(server->endpoint.connections(), 1u);
  client->connection->close(5, "changed my mind", pair.now);
  ASSERT_TRUE(pair.run([&] { return server->find<Closed>() != nullptr; }));
  EXPECT_EQ(server->find<Closed>()->kind, CloseKind::PeerTransport);
  EXPECT_EQ(server->find<Closed>()->code, 0x0cu);  // APPLICATION_ERROR hides the code (RFC 9000 §10.2.3)
}

TEST(QuicClose, AlpnMismatchIsRefusedWithTheAlert) {
  tls::ServerContext server_tls(test::server_tls_options("doq"));
  tls::ClientContext client_tls(test::client_tls_options());
  auto server = std::make_shared<RawQuicServer>(server_tls, EndpointOptions{}, test::echo());
  auto made = std::make_unique<RawQuicClient>(client_tls, Options{}, "h3", kStart);
  auto* client = made.get();
  DatagramPair pair(std::move(made), server, {}, kStart);
  ASSERT_TRUE(
      pair.run([&] { return client->find<Closed>() != nullptr && server->find<Closed>() != nullptr; }));
  EXPECT_EQ(client->find<Closed>()->kind, CloseKind::PeerTransport);
  EXPECT_EQ(client->find<Closed>()->code, 0x178u);  // CRYPTO_ERROR + no_application_protocol
  EXPECT_EQ(server->find<Closed>()->kind, CloseKind::Refused);
  pair.run_for(60s);
  EXPECT_EQ(server->endpoint.connections(), 0u);
}

TEST(QuicClose, IdleTimeoutIsTheSmallerOfBothAndSilent) {
  Options client_options;
  client_options.max_idle_timeout = 5s;
  Connected ends(client_options);
  ends.pair->run_for(1s);
  const std::size_t sent = ends.pair->link.log().size();
  const Timestamp last = ends.pair->link.log().back().at;
  ASSERT_TRUE(ends.pair->run(
      [&] { return ends.client->find<Closed>() != nullptr && ends.server->find<Closed>() != nullptr; }));
  EXPECT_EQ(ends.client->find<Closed>()->kind, CloseKind::IdleTimeout);
  EXPECT_EQ(ends.server->find<Closed>()->kind, CloseKind::IdleTimeout);
  EXPECT_EQ(ends.pair->link.log().size(), sent);
  EXPECT_GE(ends.pair->now - last, 5s);
  EXPECT_LE(ends.pair->now - last, 5s + 40ms);
  EXPECT_EQ(ends.server->endpoint.connections(), 0u);
}

TEST(QuicClose, RestartedServerResetsTheConnection) {
  Connected ends;
  ends.pair->run_for(1s);
  auto fresh = std::make_shared<RawQuicServer>(ends.server_tls, EndpointOptions{}, test::echo());
  // Another endpoint has another secret, so its reset is not believed, and the connection idles on.
  ends.pair->server = fresh;
  const StreamId stream = *ends.connection->open_bidirectional();
  ends.connection->write(stream, pattern(100, 0), true);
  ends.pair->run_for(1s);
  EXPECT_EQ(ends.client->find<Closed>(), nullptr);
}

TEST(QuicClose, ForgottenConnectionIsResetStatelessly) {
  EndpointOptions options;
  options.connection.max_idle_timeout = 2s;
  Connected ends({}, options);
  ends.pair->run_for(100ms);
  // The server forgets the connection while the client, which hears nothing, believes in it.
  ends.pair->link.drop = [](Direction d, std::size_t, BytesView) { return d == Direction::ToClient; };
  ends.server->endpoint.close_all(0, ends.pair->now);
  for (int i = 0; i < 50 && ends.server->endpoint.connections() > 0; ++i) {
    if (const auto due = ends.server->endpoint.next_timeout()) ends.server->on_timeout(*due);
    while (ends.server->poll_output(ends.pair->now)) {
    }
  }
  ASSERT_EQ(ends.server->endpoint.connections(), 0u);
  ends.pair->link.drop = nullptr;
  const StreamId stream = *ends.connection->open_bidirectional();
  ends.connection->write(stream, pattern(100, 0), true);
  ASSERT_TRUE(ends.pair->run([&] { return ends.client->find<Closed>() != nullptr; }));
  EXPECT_EQ(ends.client->find<Closed>()->kind, CloseKind::StatelessReset);
}

TEST(QuicHostile, RandomAndDamagedDatagramsNeverHurtAGoodConnection) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Connected ends;
  const SocketAddress stranger{IpAddress::v4({203, 0, 113, 7}), 9};
  for (int round = 0; round < 300; ++round) {
    const StreamId stream = *ends.connection->open_bidirectional();
    ends.connection->write(stream, pattern(50, 1), true);
    ends.pair->flush();
    const auto& log = ends.pair->link.log();
    for (int i = 0; i < 20; ++i) {
      Bytes junk;
      if (i % 4 == 0) {
        junk.resize(random() % 1400);
        for (auto& octet : junk) octet = static_cast<std::uint8_t>(random());
      } else {
        // A real packet of either end, damaged, cut or doubled.
        junk = log[random() % log.size()].payload;
        if (i % 4 == 1) junk[random() % junk.size()] ^= static_cast<std::uint8_t>(1u << (random() % 8));
        if (i % 4 == 2) junk.resize(random() % (junk.size() + 1));
        if (i % 4 == 3) junk.insert(junk.end(), junk.begin(), junk.end());
      }
      ends.server->receive(test::server_address(), random() % 2 != 0 ? test::client_address() : stranger,
                           junk, ends.pair->now);
      ends.client->receive(junk, ends.pair->now);
    }
    ASSERT_TRUE(ends.echoes(stream, pattern(50, 1))) << "round " << round;
    ASSERT_EQ(ends.client->find<Closed>(), nullptr);
  }
}

TEST(QuicHostile, DamagedHandshakesNeverCrashAndTheServerForgetsThem) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  tls::ServerContext server_tls(test::server_tls_options("doq"));
  tls::ClientContext client_tls(test::client_tls_options());
  auto server = std::make_shared<RawQuicServer>(server_tls, EndpointOptions{}, test::echo());
  Timestamp now = kStart;
  for (int round = 0; round < 60; ++round) {
    DatagramPair pair(std::make_unique<RawQuicClient>(client_tls, Options{}, "doq", now), server, {}, now);
    pair.link.tamper = [&](Direction, std::size_t, Bytes& payload) {
      if (random() % 2 == 0) return;
      for (int flips = 0; flips < 3; ++flips)
        payload[random() % payload.size()] ^= static_cast<std::uint8_t>(random());
    };
    pair.run_for(3s);
    now = pair.now;
  }
  DatagramPair rest(std::make_unique<RawQuicClient>(client_tls, Options{}, "doq", now), server, {}, now);
  rest.run_for(300s);
  EXPECT_EQ(server->endpoint.connections(), 0u);
}

TEST(QuicHostile, TimeThatRunsBackwardsIsHarmless) {
  Connected ends;
  const StreamId stream = *ends.connection->open_bidirectional();
  ends.connection->write(stream, Bytes{1}, true);
  const Timestamp earlier = ends.pair->now - 10ms;
  EXPECT_TRUE(ends.connection->poll_datagram(earlier));
  ends.connection->on_timeout(earlier - 1s);
  ends.connection->receive(test::client_address(), test::server_address(), Bytes(100, 0x40), earlier);
  EXPECT_EQ(ends.client->find<Closed>(), nullptr);
}

TEST(QuicQlog, BothEndsHandOverWholeRecordsUnderTheNameOfTheConnection) {
  std::map<std::pair<ConnectionId, bool>, std::string> logs;
  std::size_t broken = 0;
  Options options;
  EndpointOptions server_options;
  options.qlog = server_options.connection.qlog = [&](const ConnectionId& id, bool is_server) -> QlogSink {
    return [&, log = &logs[{id, is_server}]](std::string_view record) {
      broken += !record.starts_with('\x1e') || !record.ends_with('\n');
      *log += record;
    };
  };
  {
    Connected ends(options, server_options);
    ends.connection->close(0, {}, ends.pair->now);
    ends.pair->run_for(1s);
  }
  EXPECT_EQ(broken, 0u);
  ASSERT_EQ(logs.size(), 2u);
  const auto& [client, client_log] = *logs.begin();
  const auto& [server, server_log] = *logs.rbegin();
  EXPECT_EQ(client.first, server.first);
  EXPECT_FALSE(client.second);
  EXPECT_TRUE(server.second);
  for (const auto& [key, log] : logs) {
    EXPECT_NE(log.find("packet_sent"), std::string::npos);
    EXPECT_NE(log.find("packet_received"), std::string::npos);
  }
}

TEST(QuicQlog, RetryKeepsTheNameAndAnEmptySinkMeansNone) {
  std::map<std::pair<ConnectionId, bool>, int> opened;
  Options options;
  EndpointOptions server_options;
  server_options.retry = RetryPolicy::Always;
  options.qlog = server_options.connection.qlog = [&](const ConnectionId& id, bool is_server) -> QlogSink {
    ++opened[{id, is_server}];
    return {};
  };
  {
    Connected ends(options, server_options);
    ends.pair->run_for(1s);
  }
  ASSERT_EQ(opened.size(), 2u);
  EXPECT_EQ(opened.begin()->first.first, opened.rbegin()->first.first);
}

TEST(QuicMigration, PortChangeInTheMiddleIsFollowed) {
  Connected ends;
  ends.pair->run_for(200ms);
  const SocketAddress moved = test::client_address(41234);
  const StreamId stream = *ends.connection->open_bidirectional();
  ends.connection->write(stream, pattern(100, 3), true);
  // A middlebox gave the client a new port: the server sees it, the client does not know.
  std::size_t to_new_port = 0;
  for (int i = 0; i < 2000 && ends.client->received(stream).size() < 100; ++i) {
    while (auto out = ends.connection->poll_datagram(ends.pair->now)) {
      ends.server->receive(test::server_address(), moved, *out, ends.pair->now);
    }
    while (auto out = ends.server->poll_output(ends.pair->now)) {
      to_new_port += out->peer == moved ? 1 : 0;
      ends.client->receive(out->payload, ends.pair->now);
    }
    ends.pair->now += 1ms;
    ends.client->on_timeout(ends.pair->now);
    ends.server->on_timeout(ends.pair->now);
  }
  EXPECT_EQ(ends.client->received(stream), pattern(100, 3));
  EXPECT_GT(to_new_port, 0u);
}

}  // namespace
}  // namespace doxlab::quic
