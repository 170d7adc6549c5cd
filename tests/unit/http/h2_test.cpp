#include "http/h2.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "unit/http/h2_frames.hpp"

namespace doxlab::http {
namespace {

using namespace test;
using ::testing::HasSubstr;

const Bytes kQuery(33, 7);

Request post(Bytes body = kQuery) {
  return make_doh_request(body, false, "dns.example", "/dns-query");
}

/// Moves bytes both ways until both ends are silent; answers each request with `respond`.
template <class Respond>
void converse(H2Client& client, H2Server& server, Respond respond) {
  for (int turn = 0; turn < 1000; ++turn) {
    const Bytes up = client.take_output();
    server.receive(up);
    while (auto request = server.poll_request()) respond(*request);
    const Bytes down = server.take_output();
    client.receive(down);
    if (up.empty() && down.empty()) return;
  }
  FAIL() << "the two ends never fall silent";
}

std::vector<ClientEvent> events_of(H2Client& client) {
  std::vector<ClientEvent> events;
  while (auto event = client.poll_event()) events.push_back(std::move(*event));
  return events;
}

TEST(H2, FirstFlightHoldsPrefaceSettingsAndRequest) {
  H2Client client;
  client.submit(post());
  const Bytes flight = client.take_output();
  ASSERT_TRUE(as_text(flight).starts_with(kPreface));
  const auto frames = split(BytesView(flight).subspan(kPreface.size()));
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].type, Settings);
  EXPECT_EQ(frames[0].payload, (Bytes{0, 2, 0, 0, 0, 0})) << "ENABLE_PUSH = 0 and nothing else";
  EXPECT_EQ(frames[1].type, Headers);
  EXPECT_EQ(frames[2].type, Data);
  EXPECT_EQ(frames[2].payload, kQuery);
  EXPECT_EQ(frames[2].flags, kEndStream);
  EXPECT_TRUE(client.take_output().empty());
}

TEST(H2, ManyExchangesOnOneConnection) {
  H2Client client;
  H2Server server;
  std::size_t answered = 0;
  for (int round = 0; round < 300; ++round) {
    const RequestId id = client.submit(post(Bytes(20 + static_cast<std::size_t>(round), 1)));
    converse(client, server, [&](const IncomingRequest& incoming) {
      EXPECT_EQ(incoming.request.path, "/dns-query");
      EXPECT_EQ(incoming.request.authority, "dns.example");
      server.respond(incoming.id, make_doh_response(incoming.request.body, 60));
    });
    for (auto& event : events_of(client)) {
      auto& arrived = std::get<ResponseArrived>(event);
      EXPECT_EQ(arrived.id, id);
      EXPECT_EQ(arrived.response.status, 200);
      EXPECT_EQ(arrived.response.body.size(), 20u + static_cast<std::size_t>(round));
      ++answered;
    }
  }
  EXPECT_EQ(answered, 300u);
  EXPECT_EQ(server.open_requests(), 0u);
}

TEST(H2, MoreRequestsThanTheLimitWaitTheirTurn) {
  H2Client client;
  H2Server server({.max_concurrent_streams = 10});
  for (int i = 0; i < 200; ++i) client.submit(post());
  std::size_t peak = 0;
  // The first flight leaves before SETTINGS arrive, so streams over the limit are refused, not lost silently.
  converse(client, server, [&](const IncomingRequest& incoming) {
    peak = std::max(peak, server.open_requests());
    server.respond(incoming.id, make_doh_response(kQuery, 1));
  });
  std::size_t arrived = 0, refused = 0;
  for (auto& event : events_of(client)) {
    arrived += std::holds_alternative<ResponseArrived>(event);
    if (auto* failed = std::get_if<RequestFailed>(&event)) {
      ++refused;
      EXPECT_THAT(failed->reason, HasSubstr("REFUSED_STREAM"));
    }
  }
  EXPECT_LE(peak, 10u);
  EXPECT_EQ(arrived + refused, 200u);
  EXPECT_GE(arrived, 10u);
}

TEST(H2, LargestBodiesPassBothWays) {
  H2Client client;
  H2Server server;
  client.submit(post(Bytes(65535, 3)));
  converse(client, server, [&](const IncomingRequest& incoming) {
    EXPECT_EQ(incoming.request.body, Bytes(65535, 3));
    server.respond(incoming.id, make_doh_response(Bytes(65535, 4), 1));
  });
  const auto events = events_of(client);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<ResponseArrived>(events[0]).response.body, Bytes(65535, 4));
}

TEST(H2, BodyOverTheCapGets413AndTheNextRequestWorks) {
  H2Client client;
  H2Server server;
  const RequestId big = client.submit(post(Bytes(70000)));
  Request unannounced = post(Bytes(70000));
  std::erase_if(unannounced.headers, [](const Header& h) { return h.name == "content-length"; });
  const RequestId unannounced_big = client.submit(unannounced);
  converse(client, server,
           [&](const IncomingRequest&) { ADD_FAILURE() << "must not reach the application"; });
  const RequestId small = client.submit(post());
  converse(client, server, [&](const IncomingRequest& incoming) {
    server.respond(incoming.id, make_doh_response(kQuery, 1));
  });
  std::map<RequestId, int> status;
  for (auto& event : events_of(client)) {
    auto& arrived = std::get<ResponseArrived>(event);
    status[arrived.id] = arrived.response.status;
    EXPECT_FALSE(arrived.response.body.empty());
  }
  EXPECT_EQ(status, (std::map<RequestId, int>{{big, 413}, {unannounced_big, 413}, {small, 200}}));
  EXPECT_EQ(server.open_requests(), 0u);
}

TEST(H2, DecodedHeadersOverTheLimitGet431) {
  H2Client client;
  H2Server server;
  Request request = post();
  // The same field again and again: one octet each on the wire once HPACK knows it.
  for (int i = 0; i < 20; ++i) request.headers.push_back({"x-bomb", std::string(1000, 'x')});
  client.submit(request);
  client.submit(post());
  converse(client, server, [&](const IncomingRequest& incoming) {
    server.respond(incoming.id, make_doh_response(kQuery, 1));
  });
  std::vector<int> status;
  for (auto& event : events_of(client)) status.push_back(std::get<ResponseArrived>(event).response.status);
  EXPECT_THAT(status, ::testing::UnorderedElementsAre(431, 200));
}

TEST(H2, HeadIsAnsweredWithoutBody) {
  H2Client client;
  H2Server server;
  Request request = make_doh_request(kQuery, true, "a", "/dns-query");
  request.method = "HEAD";
  client.submit(request);
  converse(client, server, [&](const IncomingRequest& incoming) {
    server.respond(incoming.id, make_doh_response(Bytes(50), 1));
  });
  const auto events = events_of(client);
  ASSERT_EQ(events.size(), 1u);
  const auto& response = std::get<ResponseArrived>(events[0]).response;
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.body.empty());
  EXPECT_EQ(response.headers[1].value, "50");
}

TEST(H2, CloseAnswersWhatIsInFlight) {
  H2Client client;
  H2Server server;
  client.submit(post());
  std::vector<RequestId> pending;
  converse(client, server, [&](const IncomingRequest& incoming) { pending.push_back(incoming.id); });
  ASSERT_EQ(pending.size(), 1u);
  server.close();
  client.receive(server.take_output());
  EXPECT_FALSE(server.is_closed());
  server.respond(pending[0], make_doh_response(kQuery, 1));
  const Bytes last = server.take_output();
  EXPECT_EQ(goaway_code(split(last)), 0u);
  client.receive(last);
  client.take_output();
  EXPECT_TRUE(server.is_closed());
  const auto events = events_of(client);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<ResponseArrived>(events[0]));
  EXPECT_TRUE(std::get<ConnectionFailed>(events[1]).clean);
  client.submit(post());
  EXPECT_TRUE(std::holds_alternative<RequestFailed>(*client.poll_event()));
}

TEST(H2, ClientCloseFailsWhatIsInFlightAndSaysGoaway) {
  H2Client client;
  H2Server server;
  const RequestId id = client.submit(post());
  converse(client, server, [](const IncomingRequest&) {});
  client.close();
  const Bytes last = client.take_output();
  EXPECT_EQ(goaway_code(split(last)), 0u);
  EXPECT_TRUE(client.is_closed());
  const auto events = events_of(client);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<RequestFailed>(events[0]).id, id);
  server.receive(last);
  server.take_output();
  EXPECT_TRUE(server.poll_request() == std::nullopt);
}

TEST(H2, AnswerToADeadStreamIsIgnored) {
  H2Server server;
  server.receive(opening() + frame(Headers, kEndHeaders | kEndStream, 1, header_block(kGet)));
  const auto request = server.poll_request();
  ASSERT_TRUE(request);
  server.receive(frame(RstStream, 0, 1, u32(8)));
  server.take_output();
  server.respond(request->id, make_doh_response(kQuery, 1));
  server.respond(12345, make_doh_response(kQuery, 1));
  server.respond(~RequestId{0}, make_doh_response(kQuery, 1));
  EXPECT_TRUE(server.take_output().empty());
  EXPECT_FALSE(server.is_closed());
}

TEST(H2, RequestThatIsResetBeforeItIsPolledIsNeverSeen) {
  H2Server server;
  server.receive(opening() + frame(Headers, kEndHeaders | kEndStream, 1, header_block(kGet)) +
                 frame(RstStream, 0, 1, u32(8)));
  EXPECT_FALSE(server.poll_request());
}

TEST(H2, AnyCutOfTheInputGivesTheSameResult) {
  H2Client client;
  for (int i = 0; i < 5; ++i) client.submit(post(Bytes(static_cast<std::size_t>(20 + i), 9)));
  const Bytes flight = client.take_output();
  const auto run = [&](auto next_cut) {
    H2Server server;
    std::string story;
    std::vector<IncomingRequest> requests;
    for (std::size_t at = 0; at < flight.size();) {
      const std::size_t length = std::min(flight.size() - at, next_cut());
      server.receive(BytesView(flight).subspan(at, length));
      at += length;
      while (auto request = server.poll_request()) requests.push_back(std::move(*request));
    }
    for (const auto& [id, request] : requests) {
      story += std::to_string(id) + ":" + std::to_string(request.body.size()) + " ";
      server.respond(id, make_doh_response(request.body, 1));
    }
    return story + to_hex(server.take_output());
  };
  const std::string byte_by_byte = run([] { return std::size_t{1}; });
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(run([&] { return std::size_t{1 + random() % 40}; }), byte_by_byte);
}

TEST(H2, RandomDamageNeverBreaksEitherEnd) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 3000; ++i) {
    H2Client client;
    H2Server server;
    client.submit(post());
    client.submit(make_doh_request(kQuery, true, "a", "/dns-query"));
    Bytes up = client.take_output();
    for (std::uint32_t n = random() % 4; n > 0; --n)
      up[random() % up.size()] = static_cast<std::uint8_t>(random());
    server.receive(up);
    while (auto request = server.poll_request()) server.respond(request->id, make_doh_response(kQuery, 1));
    Bytes down = server.take_output();
    for (std::uint32_t n = random() % 4; n > 0; --n)
      down[random() % down.size()] = static_cast<std::uint8_t>(random());
    client.receive(down);
    client.take_output();
    events_of(client);
  }
}

}  // namespace
}  // namespace doxlab::http
