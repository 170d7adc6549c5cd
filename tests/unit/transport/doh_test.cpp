#include "transport/doh/doh.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "http/h2.hpp"
#include "tls/session.hpp"
#include "transport/doh/exchange.hpp"
#include "unit/http/h2_frames.hpp"
#include "unit/tls/loopback.hpp"
#include "unit/transport/transcript.hpp"

namespace doxlab::transport {
namespace {

using namespace doxlab::transport::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct DohContexts {
  explicit DohContexts(std::uint32_t early_data = 0, std::vector<std::string> alpn_list = {"h2"}) {
    auto server_side = tls::testing::server_options();
    server_side.alpn = std::move(alpn_list);
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
struct DohPair {
  explicit DohPair(const DohContexts& contexts)
      : client(make_doh_client(contexts.client, kStart).value()),
        server(make_doh_server_session(contexts.server, kStart)) {}

  void to_server() {
    clock += 10ms;
    const Bytes bytes = stream_of(*client, clock);
    flights.push_back(bytes.size());
    if (!bytes.empty()) server->receive(bytes, clock);
    while (const auto incoming = server->poll_query()) {
      seen.push_back(name_in(incoming->message) + " id " +
                     std::to_string(dns::message_id(incoming->message)) +
                     (incoming->early_data ? " early" : ""));
      if (answering) server->answer(incoming->handle, answer_to(incoming->message), clock);
    }
  }
  void to_client() {
    clock += 10ms;
    const Bytes bytes = stream_of(*server, clock);
    flights.push_back(bytes.size());
    if (!bytes.empty()) client->receive(bytes, clock);
    for (std::string& line : events_of(*client)) transcript.push_back(std::move(line));
  }
  void round_trip() {
    to_server();
    to_client();
  }
  void handshake() {
    client->start(kStart);
    round_trip();
    round_trip();
    transcript.clear();
  }

  std::unique_ptr<ClientSession> client;
  std::unique_ptr<StreamServerSession> server;
  Timestamp clock = kStart;
  bool answering = true;
  std::vector<std::string> seen, transcript;
  std::vector<std::size_t> flights;
};

/// The types of the TLS records in a run, by their first octet: 22 handshake, 20 CCS, 23 application data.
std::vector<int> record_types(BytesView bytes) {
  std::vector<int> types;
  ByteReader in(bytes);
  while (in.remaining() >= 5) {
    types.push_back(in.u8());
    in.skip(2);
    in.skip(in.u16());
  }
  return types;
}

TEST(Doh, AColdLookupTakesTwoRoundTripsAfterTcp) {
  for (const HttpMethod method : {HttpMethod::Post, HttpMethod::Get}) {
    DohContexts contexts;
    contexts.client.method = method;
    DohPair pair(contexts);
    pair.client->submit(query("a.test.", 5));
    pair.client->start(kStart);
    pair.round_trip();
    EXPECT_THAT(pair.transcript, ElementsAre("handshake h2"));
    pair.round_trip();
    EXPECT_THAT(pair.transcript, ElementsAre("handshake h2", "ticket", "response 1 a.test. id 5"));
    EXPECT_THAT(pair.seen, ElementsAre("a.test. id 0"));
  }
}

TEST(Doh, FinishedPrefaceSettingsAndRequestLeaveInOneFlightOfTwoRecords) {
  DohPair pair{DohContexts()};
  pair.client->submit(query("a.test."));
  pair.client->start(kStart);
  pair.round_trip();
  pair.client->submit(query("b.test."));
  const Bytes flight = stream_of(*pair.client, pair.clock);
  // Compatibility CCS, Finished, and all frames together.
  EXPECT_THAT(record_types(flight), ElementsAre(20, 23, 23));
  EXPECT_LT(flight.size(), 430u);
  pair.server->receive(flight, pair.clock);
  EXPECT_EQ(queries_of(*pair.server).size(), 2u);
}

TEST(Doh, AWarmLookupCostsOneRecordEachWay) {
  DohPair pair{DohContexts()};
  pair.handshake();
  for (int i = 0; i < 3; ++i) {
    pair.client->submit(query("a.test."));
    const Bytes up = stream_of(*pair.client, pair.clock);
    EXPECT_EQ(record_types(up).size(), 1u);
    pair.server->receive(up, pair.clock);
    const auto incoming = pair.server->poll_query();
    ASSERT_TRUE(incoming);
    pair.server->answer(incoming->handle, answer_to(incoming->message), pair.clock);
    const Bytes down = stream_of(*pair.server, pair.clock);
    EXPECT_EQ(record_types(down).size(), 1u);
    pair.client->receive(down, pair.clock);
  }
  EXPECT_EQ(events_of(*pair.client).size(), 3u);
}

TicketReceived ticket_from(const DohContexts& contexts) {
  DohPair pair(contexts);
  pair.client->start(kStart);
  for (int i = 0; i < 2; ++i) {
    pair.to_server();
    pair.client->receive(stream_of(*pair.server, pair.clock), pair.clock);
    while (auto event = pair.client->poll_event()) {
      if (auto* ticket = std::get_if<TicketReceived>(&*event)) return *ticket;
    }
  }
  ADD_FAILURE() << "no ticket";
  return {};
}

TEST(Doh, EarlyDataSavesARoundTrip) {
  DohContexts contexts(16384);
  contexts.client.ticket = ticket_from(contexts);
  DohPair pair(contexts);
  pair.client->submit(query("a.test."));
  pair.client->start(kStart);
  pair.round_trip();
  EXPECT_THAT(pair.seen, ElementsAre("a.test. id 0 early"));
  EXPECT_THAT(pair.transcript, ElementsAre("handshake h2", "response 1 a.test. id 4660"));
  pair.client->submit(query("b.test."));
  pair.round_trip();
  EXPECT_THAT(pair.seen, ElementsAre("a.test. id 0 early", "b.test. id 0"));
}

TEST(Doh, RefusedEarlyDataIsAnsweredOnceAfterTheHandshake) {
  const TicketReceived ticket = ticket_from(DohContexts(16384));
  DohContexts contexts(16384);  // another server: other ticket keys
  contexts.client.ticket = ticket;
  DohPair pair(contexts);
  pair.client->submit(query("a.test."));
  pair.client->start(kStart);
  pair.round_trip();
  pair.round_trip();
  EXPECT_THAT(pair.seen, ElementsAre("a.test. id 0"));
  EXPECT_THAT(pair.transcript, ElementsAre("handshake h2", "ticket", "response 1 a.test. id 4660"));
}

TEST(Doh, UpdatesWaitForTheHandshakeEvenWithEarlyData) {
  DohContexts contexts(16384);
  contexts.client.ticket = ticket_from(contexts);
  DohPair pair(contexts);
  Bytes update = query("a.test.");
  update[2] = static_cast<std::uint8_t>(update[2] | 5 << 3);
  pair.client->submit(update);
  pair.client->start(kStart);
  pair.round_trip();
  EXPECT_THAT(pair.seen, IsEmpty());
  pair.round_trip();
  EXPECT_THAT(pair.seen, ElementsAre("a.test. id 0"));
}

TEST(Doh, WrongNameFailsTheQueriesWithTheReason) {
  DohContexts contexts;
  contexts.client.server_name = "other.doxlab.test";
  DohPair pair(contexts);
  pair.client->submit(query("a.test."));
  pair.client->start(kStart);
  pair.round_trip();
  const std::string reason = "certificate verify failed: hostname mismatch (expected other.doxlab.test)";
  EXPECT_THAT(pair.transcript, ElementsAre("failed 1: " + reason, "broken: " + reason));
  pair.to_server();
  EXPECT_TRUE(pair.server->is_closed());
}

TEST(Doh, ServerWithoutH2IsRefused) {
  DohPair pair{DohContexts(0, {"dot"})};
  pair.client->submit(query("a.test."));
  pair.client->start(kStart);
  pair.round_trip();
  ASSERT_EQ(pair.transcript.size(), 2u);
  EXPECT_THAT(pair.transcript[0], HasSubstr("failed 1: "));
  EXPECT_THAT(pair.transcript[1], HasSubstr("broken: "));
}

TEST(Doh, AuthorityLeavesTheDefaultPortOutAndBracketsIpv6) {
  const auto authority = [](std::string name, std::uint16_t port) {
    ClientOptions options;
    options.server_name = std::move(name);
    options.port = port;
    return make_doh_request(make_doh_query({1}, query("a.test.")).value(), options, Transport::Doh).authority;
  };
  EXPECT_EQ(authority("dns.example", 0), "dns.example");
  EXPECT_EQ(authority("dns.example", 443), "dns.example");
  EXPECT_EQ(authority("dns.example", 8443), "dns.example:8443");
  EXPECT_EQ(authority("2001:db8::1", 8443), "[2001:db8::1]:8443");
}

TEST(Doh, CloseSaysGoawayAndCloseNotify) {
  DohPair pair{DohContexts()};
  pair.handshake();
  pair.client->submit(query("a.test."));
  stream_of(*pair.client, pair.clock);  // lost for this test
  pair.client->close(pair.clock);
  EXPECT_THAT(events_of(*pair.client), ElementsAre("failed 1: the client closed the connection", "closed"));
  EXPECT_THAT(record_types(stream_of(*pair.client, pair.clock)), ElementsAre(23, 23));
}

TEST(Doh, ServerCloseDeliversAnswersInFlightThenEnds) {
  DohPair pair{DohContexts()};
  pair.handshake();
  pair.answering = false;
  pair.client->submit(query("a.test."));
  pair.client->receive({}, pair.clock);
  pair.server->receive(stream_of(*pair.client, pair.clock), pair.clock);
  const auto incoming = pair.server->poll_query();
  ASSERT_TRUE(incoming);
  pair.server->close(pair.clock);
  pair.to_client();
  EXPECT_FALSE(pair.server->is_closed());
  EXPECT_THAT(pair.transcript, IsEmpty());
  pair.server->answer(incoming->handle, answer_to(incoming->message), pair.clock);
  pair.to_client();
  EXPECT_THAT(pair.transcript, ElementsAre("response 1 a.test. id 4660", "closed"));
  EXPECT_TRUE(pair.server->is_closed());
}

TEST(Doh, ServerCloseDoesNotWaitForEver) {
  DohPair pair{DohContexts()};
  pair.handshake();
  pair.answering = false;
  pair.client->submit(query("a.test."));
  pair.to_server();
  pair.server->close(pair.clock);
  const auto due = pair.server->next_timeout();
  ASSERT_TRUE(due);
  EXPECT_LE(*due - pair.clock, 5s);
  pair.server->on_timeout(*due);
  pair.to_client();
  EXPECT_TRUE(pair.server->is_closed());
  ASSERT_EQ(pair.transcript.size(), 2u);
  EXPECT_THAT(pair.transcript[0], HasSubstr("failed 1"));
}

TEST(Doh, HandshakeAndIdleDeadlines) {
  DohContexts contexts;
  DohPair silent(contexts);
  EXPECT_EQ(silent.server->next_timeout(), at(ServerLimits().handshake_timeout));
  silent.server->on_timeout(at(ServerLimits().handshake_timeout));
  EXPECT_TRUE(silent.server->is_closed());

  DohPair idle(contexts);
  idle.handshake();
  const auto due = idle.server->next_timeout();
  ASSERT_TRUE(due);
  EXPECT_EQ(*due, at(30ms) + 10s) << "from the end of the handshake";
  idle.server->on_timeout(*due);
  idle.to_client();
  EXPECT_THAT(idle.transcript, ElementsAre("closed"));
  EXPECT_TRUE(idle.server->is_closed());
}

TEST(Doh, QueriesInFlightAreNotIdle) {
  DohPair pair{DohContexts()};
  pair.handshake();
  pair.answering = false;
  pair.client->submit(query("a.test."));
  pair.to_server();
  EXPECT_EQ(pair.server->next_timeout(), std::nullopt);
}

TEST(Doh, AnswersOfAnySizeSurviveByteExact) {
  DohPair pair{DohContexts()};
  pair.handshake();
  pair.answering = false;
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const std::size_t extra : {0u, 1u, 500u, 4000u, 16384u, 40000u, 65000u}) {
    const Bytes asked = query("a.test.");
    pair.client->submit(asked);
    pair.server->receive(stream_of(*pair.client, pair.clock), pair.clock);
    const auto incoming = pair.server->poll_query();
    ASSERT_TRUE(incoming);
    Bytes answer = answer_to(incoming->message, extra);
    for (std::size_t i = asked.size(); i < answer.size(); ++i)
      answer[i] = static_cast<std::uint8_t>(random());
    pair.server->answer(incoming->handle, answer, pair.clock);
    for (int turn = 0; turn < 10; ++turn) {
      pair.client->receive(stream_of(*pair.server, pair.clock), pair.clock);
      pair.server->receive(stream_of(*pair.client, pair.clock), pair.clock);
    }
    const auto event = pair.client->poll_event();
    ASSERT_TRUE(event);
    Bytes expected = answer;
    dns::set_message_id(expected, 0x1234);
    EXPECT_EQ(std::get<ResponseReceived>(*event).message, expected) << extra;
  }
}

/// A TLS client that says what it likes to a DoH server session.
struct RawClient {
  explicit RawClient(const DohContexts& contexts)
      : tls(contexts.client.tls->new_ssl(tls::testing::kName, "h2", nullptr)),
        server(make_doh_server_session(contexts.server, kStart)) {
    EXPECT_TRUE(tls.start());
    for (int i = 0; i < 4; ++i) turn();
    EXPECT_TRUE(tls.handshake_done());
  }
  void turn() {
    const Bytes up = tls.take_output();
    if (!up.empty()) server->receive(up, kStart);
    const Bytes down = stream_of(*server, kStart);
    if (!down.empty()) {
      EXPECT_TRUE(tls.receive(down));
    }
    const Bytes plain = tls.take_plaintext();
    output.insert(output.end(), plain.begin(), plain.end());
  }
  void say(BytesView plaintext) {
    EXPECT_TRUE(tls.write(plaintext));
    turn();
    turn();
  }
  std::vector<http::test::Frame> frames() const { return http::test::split(output); }

  tls::Session tls;
  std::unique_ptr<StreamServerSession> server;
  Bytes output;
};

TEST(Doh, Http1OnAnH2ConnectionGetsGoaway) {
  RawClient client{DohContexts()};
  client.say(as_bytes("GET /dns-query?dns=AAAB HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_EQ(http::test::goaway_code(client.frames()), 1u);
  EXPECT_TRUE(client.server->is_closed());
  EXPECT_TRUE(client.tls.peer_closed());
}

TEST(Doh, RequestsThatAreNoQueriesGetTheirStatusHere) {
  DohContexts contexts;
  RawClient raw(contexts);
  http::H2Client http;
  const auto ask = [&](http::Request request) {
    http.submit(request);
    raw.say(http.take_output());
    http.receive(std::exchange(raw.output, {}));
    const auto event = http.poll_event();
    return event && std::holds_alternative<http::ResponseArrived>(*event)
               ? std::get<http::ResponseArrived>(*event).response.status
               : -1;
  };
  const Bytes asked = query("a.test.");
  http::Request good = http::make_doh_request(asked, false, "a", "/dns-query");
  http::Request bad = good;
  bad.path = "/";
  EXPECT_EQ(ask(bad), 404);
  bad = good;
  bad.method = "PUT";
  EXPECT_EQ(ask(bad), 405);
  bad = good;
  bad.headers.clear();
  EXPECT_EQ(ask(bad), 415);
  EXPECT_EQ(ask(http::make_doh_request(Bytes(2), false, "a", "/dns-query")), 400);
  EXPECT_EQ(ask(http::make_doh_request(Bytes(70000), false, "a", "/dns-query")), 413);
  EXPECT_EQ(ask(http::make_doh_request({}, true, "a", "/dns-query")), 400);
  EXPECT_TRUE(queries_of(*raw.server).empty());
  // And after all those faults, a good query is a query.
  EXPECT_EQ(ask(good), -1);
  const auto incoming = raw.server->poll_query();
  ASSERT_TRUE(incoming);
  raw.server->answer(incoming->handle, {}, kStart);
  raw.turn();
  http.receive(std::exchange(raw.output, {}));
  const auto event = http.poll_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(std::get<http::ResponseArrived>(*event).response.status, 503) << "no answer";
}

TEST(Doh, AQueryWhoseStreamDiesIsForgotten) {
  RawClient raw{DohContexts()};
  using namespace http::test;
  raw.say(opening() + frame(Headers, kEndHeaders | kEndStream, 1, header_block(kGet)) +
          frame(Headers, kEndHeaders | kEndStream, 3, header_block(kGet)));
  const auto first = raw.server->poll_query();
  ASSERT_TRUE(first);
  raw.say(frame(RstStream, 0, 1, u32(8)) + frame(RstStream, 0, 3, u32(8)));
  EXPECT_FALSE(raw.server->poll_query()) << "the second was never looked at";
  raw.server->answer(first->handle, answer_to(first->message), kStart);
  EXPECT_TRUE(raw.server->next_timeout()) << "nothing is in flight, so the connection is idle";
  EXPECT_FALSE(raw.server->is_closed());
}

/// A TLS server that says what it likes to a DoH client session.
std::vector<std::string> client_events_with(
    std::function<void(http::H2Server&, const http::IncomingRequest&)> respond, Bytes instead = {}) {
  DohContexts contexts;
  auto client = make_doh_client(contexts.client, kStart).value();
  tls::Session tls(contexts.server.tls->new_ssl(false));
  http::H2Server http;
  client->submit(query("a.test."));
  client->start(kStart);
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(tls.receive(stream_of(*client, kStart)));
    http.receive(tls.take_plaintext());
    while (auto request = http.poll_request()) respond(http, *request);
    if (tls.handshake_done()) {
      EXPECT_TRUE(tls.write(instead.empty() ? http.take_output() : std::exchange(instead, {})));
    }
    client->receive(tls.take_output(), kStart);
  }
  auto lines = events_of(*client);
  std::erase(lines, "handshake h2");
  std::erase(lines, "ticket");
  return lines;
}

TEST(DohBadServer, EachFaultHasAReason) {
  const auto with = [](http::Response response) {
    return client_events_with([&](http::H2Server& http, const http::IncomingRequest& request) {
      if (response.body.empty()) response.body = answer_to(request.request.body);
      http.respond(request.id, response);
    });
  };
  http::Response r{.status = 200, .headers = {{"content-type", "application/dns-message"}}, .body = {}};
  EXPECT_THAT(with(r), ElementsAre("response 1 a.test. id 4660"));
  r.status = 500;
  EXPECT_THAT(with(r), ElementsAre("failed 1: HTTP status 500"));
  r.status = 200;
  r.headers[0].value = "text/html";
  EXPECT_THAT(with(r), ElementsAre("failed 1: response is not application/dns-message"));
  r.headers[0].value = "application/dns-message";
  r.body = Bytes(70000);
  EXPECT_THAT(with(r), ElementsAre("failed 1: response is longer than any DNS message"));
  r.body = Bytes(5);
  EXPECT_THAT(with(r), ElementsAre("failed 1: response of 5 octets is shorter than a DNS header"));
  r.body = answer_to(query("b.test.", 0));
  EXPECT_THAT(with(r), ElementsAre("failed 1: the answer is to another question"));
  r.body = answer_to(query("a.test.", 77));
  EXPECT_THAT(with(r), ElementsAre("failed 1: the answer is to another question"));
  EXPECT_THAT(client_events_with([](auto&, auto&) {}, to_bytes(as_bytes("HTTP/1.1 400 Bad Request\r\n\r\n"))),
              ElementsAre(HasSubstr("failed 1"), HasSubstr("broken")));
}

}  // namespace
}  // namespace doxlab::transport
