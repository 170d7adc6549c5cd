#include "transport/dot/dot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "unit/tls/loopback.hpp"
#include "unit/transport/transcript.hpp"

namespace doxlab::transport {
namespace {

using namespace doxlab::transport::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct DotContexts {
  explicit DotContexts(std::uint32_t early_data = 0) {
    auto server_side = tls::testing::server_options();
    server_side.max_early_data_bytes = early_data;
    server.tls = std::make_shared<tls::ServerContext>(server_side);
    auto client_side = tls::testing::client_options();
    client_side.early_data = early_data != 0;
    client.tls = std::make_shared<tls::ClientContext>(client_side);
    client.server_name = tls::testing::kName;
  }

  ClientOptions client;
  ServerOptions server;
};

/// A client and a server session with a path of 10 ms each way; the server answers every query at once.
struct DotPair {
  explicit DotPair(const DotContexts& contexts)
      : client(make_dot_client(contexts.client).value()), server(make_dot_server_session(contexts.server, kStart)) {}

  void to_server() {
    clock += 10ms;
    const Bytes bytes = stream_of(*client, clock);
    if (!bytes.empty()) server->receive(bytes, clock);
    while (const auto incoming = server->poll_query()) {
      seen.push_back(name_in(incoming->message) + (incoming->early_data ? " early" : ""));
      server->answer(incoming->handle, answer_to(incoming->message), clock);
    }
  }
  void to_client() {
    clock += 10ms;
    const Bytes bytes = stream_of(*server, clock);
    if (!bytes.empty()) client->receive(bytes, clock);
    for (std::string& line : events_of(*client)) transcript.push_back(std::move(line));
  }
  void round_trip() {
    to_server();
    to_client();
  }

  std::unique_ptr<ClientSession> client;
  std::unique_ptr<StreamServerSession> server;
  Timestamp clock = kStart;
  std::vector<std::string> seen, transcript;
};

TEST(Dot, AColdLookupTakesTwoRoundTripsAfterTcp) {
  DotPair pair{DotContexts()};
  pair.client->submit(query("a.test.", 5));
  pair.client->start(kStart);
  pair.round_trip();
  EXPECT_THAT(pair.transcript, ElementsAre("handshake dot"));
  pair.round_trip();
  EXPECT_THAT(pair.transcript, ElementsAre("handshake dot", "ticket", "response 1 a.test. id 5"));
  EXPECT_THAT(pair.seen, ElementsAre("a.test."));
}

TEST(Dot, QueryAndPrefixShareOneRecord) {
  DotPair pair{DotContexts()};
  pair.client->start(kStart);
  pair.round_trip();
  pair.round_trip();
  const Bytes asked = query("a.test.");
  pair.client->submit(asked);
  const Bytes record = stream_of(*pair.client, pair.clock);
  EXPECT_EQ(record.size(), 5 + 2 + asked.size() + 1 + 16);  // header, prefix, query, content type, tag
}

TEST(Dot, WarmSessionsCarryManyQueries) {
  DotPair pair{DotContexts()};
  pair.client->start(kStart);
  pair.round_trip();
  pair.round_trip();
  pair.transcript.clear();
  pair.client->submit(query("b.test."));
  pair.client->submit(query("c.test."));
  pair.round_trip();
  EXPECT_THAT(pair.transcript, ElementsAre("response 1 b.test. id 4660", "response 2 c.test. id 4660"));
}

TicketReceived ticket_from(const DotContexts& contexts) {
  DotPair pair(contexts);
  pair.client->start(kStart);
  for (int i = 0; i < 2; ++i) {
    pair.to_server();
    const Bytes bytes = stream_of(*pair.server, pair.clock);
    pair.client->receive(bytes, pair.clock);
    while (auto event = pair.client->poll_event()) {
      if (auto* ticket = std::get_if<TicketReceived>(&*event)) return *ticket;
    }
  }
  ADD_FAILURE() << "no ticket";
  return {};
}

TEST(Dot, EarlyDataSavesARoundTrip) {
  DotContexts contexts(16384);
  contexts.client.ticket = ticket_from(contexts);
  DotPair pair(contexts);
  pair.client->submit(query("a.test."));
  pair.client->start(kStart);
  pair.round_trip();
  EXPECT_THAT(pair.seen, ElementsAre("a.test. early"));
  EXPECT_THAT(pair.transcript, ElementsAre("handshake dot", "response 1 a.test. id 4660"));
  pair.client->submit(query("b.test."));
  pair.round_trip();
  EXPECT_THAT(pair.seen, ElementsAre("a.test. early", "b.test."));
}

TEST(Dot, RefusedEarlyDataIsAnsweredOnceAfterTheHandshake) {
  DotContexts giving(16384);
  const TicketReceived ticket = ticket_from(giving);
  DotContexts contexts(16384);  // another server: other ticket keys
  contexts.client.ticket = ticket;
  DotPair pair(contexts);
  pair.client->submit(query("a.test."));
  pair.client->start(kStart);
  pair.round_trip();
  pair.round_trip();
  EXPECT_THAT(pair.seen, ElementsAre("a.test."));
  EXPECT_THAT(pair.transcript, ElementsAre("handshake dot", "ticket", "response 1 a.test. id 4660"));
}

TEST(Dot, WrongNameFailsTheQueriesWithTheReason) {
  DotContexts contexts;
  contexts.client.server_name = "other.doxlab.test";
  DotPair pair(contexts);
  pair.client->submit(query("a.test."));
  pair.client->start(kStart);
  pair.round_trip();
  const std::string reason = "certificate verify failed: hostname mismatch (expected other.doxlab.test)";
  EXPECT_THAT(pair.transcript, ElementsAre("failed 1: " + reason, "broken: " + reason));
  pair.to_server();  // the alert
  EXPECT_TRUE(pair.server->is_closed());
}

TEST(Dot, ClientClosesWithCloseNotify) {
  DotPair pair{DotContexts()};
  pair.client->start(kStart);
  pair.round_trip();
  pair.round_trip();
  pair.client->submit(query("a.test."));
  stream_of(*pair.client, pair.clock);  // lost for this test
  pair.client->close(pair.clock);
  EXPECT_THAT(events_of(*pair.client), ElementsAre("failed 1: the client closed the connection", "closed"));
  EXPECT_FALSE(stream_of(*pair.client, pair.clock).empty()) << "close_notify";
}

TEST(Dot, ServerAnswersWhatCameBeforeCloseNotify) {
  DotPair pair{DotContexts()};
  pair.client->start(kStart);
  pair.round_trip();
  pair.round_trip();
  pair.client->submit(query("a.test."));
  pair.client->close(pair.clock);
  pair.server->receive(stream_of(*pair.client, pair.clock), pair.clock);
  EXPECT_FALSE(pair.server->is_closed());
  const auto incoming = pair.server->poll_query();
  ASSERT_TRUE(incoming);
  pair.server->answer(incoming->handle, answer_to(incoming->message), pair.clock);
  const Bytes last = stream_of(*pair.server, pair.clock);
  EXPECT_GT(last.size(), incoming->message.size());
  EXPECT_TRUE(pair.server->is_closed());
}

TEST(Dot, IdleServerClosesWithCloseNotifyAndTheClientEndsCleanly) {
  DotPair pair{DotContexts()};
  pair.client->start(kStart);
  pair.round_trip();
  pair.round_trip();
  pair.transcript.clear();
  const auto due = pair.server->next_timeout();
  ASSERT_TRUE(due);
  EXPECT_EQ(*due - 10s, at(30ms)) << "the handshake's end";
  pair.server->on_timeout(*due);
  pair.to_client();
  EXPECT_THAT(pair.transcript, ElementsAre("closed"));
  EXPECT_TRUE(pair.server->is_closed());
}

TEST(Dot, TruncationWithoutCloseNotifyFailsOpenQueriesOnly) {
  DotContexts contexts;
  for (const bool open : {false, true}) {
    DotPair pair(contexts);
    pair.client->start(kStart);
    pair.round_trip();
    pair.round_trip();
    if (open) pair.client->submit(query("a.test."));
    pair.client->receive_end(pair.clock);
    const auto lines = events_of(*pair.client);
    EXPECT_EQ(lines.back(), open ? "broken: the server closed the connection before it answered" : "closed");
  }
}

TEST(Dot, EndDuringTheHandshakeSaysSo) {
  DotPair pair{DotContexts()};
  pair.client->submit(query("a.test."));
  pair.client->start(kStart);
  stream_of(*pair.client, pair.clock);
  pair.client->receive_end(pair.clock);
  EXPECT_THAT(events_of(*pair.client), ElementsAre("failed 1: the server closed the connection during the handshake",
                                                   "broken: the server closed the connection during the handshake"));
}

TEST(Dot, HandshakeDeadlineStandsHoweverSlowlyOctetsCome) {
  DotContexts contexts;
  DotPair pair(contexts);
  pair.client->start(kStart);
  const Bytes hello = stream_of(*pair.client, kStart);
  for (std::size_t i = 0; i < 100; ++i) {
    pair.server->receive(BytesView(hello).subspan(i, 1), at(i * 40ms));
    EXPECT_EQ(pair.server->next_timeout(), at(ServerLimits().handshake_timeout));
  }
  pair.server->on_timeout(at(ServerLimits().handshake_timeout));
  stream_of(*pair.server, at(ServerLimits().handshake_timeout));
  EXPECT_TRUE(pair.server->is_closed());
}

TEST(Dot, GarbageClosesTheServerWithAnAlert) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  DotContexts contexts;
  for (int i = 0; i < 100; ++i) {
    DotPair pair(contexts);
    pair.client->start(kStart);
    if (i % 2 == 1) pair.round_trip();
    Bytes garbage(700);
    for (auto& octet : garbage) octet = static_cast<std::uint8_t>(random());
    for (int n = 0; n < 40; ++n) {
      pair.server->receive(garbage, pair.clock);
      pair.client->receive(garbage, pair.clock);
    }
    stream_of(*pair.server, pair.clock);
    EXPECT_TRUE(pair.server->is_closed());
    EXPECT_THAT(events_of(*pair.client).back(), ::testing::StartsWith("broken: "));
  }
}

TEST(Dot, ClientWithoutAContextIsRefused) {
  EXPECT_FALSE(make_dot_client({}));
}

}  // namespace
}  // namespace doxlab::transport
