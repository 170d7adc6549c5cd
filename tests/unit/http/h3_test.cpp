#include "http/h3.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

#include "unit/http/h3_frames.hpp"

namespace doxlab::http {
namespace {

using namespace test3;
using ::testing::HasSubstr;

constexpr std::uint64_t kStreamCreation = 0x103, kClosedCritical = 0x104, kFrameUnexpected = 0x105,
                        kFrameError = 0x106, kIdError = 0x108, kSettingsError = 0x109,
                        kMissingSettings = 0x10a, kQpackDecompression = 0x200, kQpackEncoder = 0x201;

const Bytes kQuery(33, 7);

Request post(Bytes body = kQuery) {
  return make_doh_request(body, false, "dns.example", "/dns-query");
}

/// Both ends over streams that never lose anything. `cut` gives the length of the next piece.
struct Pair {
  Pair() {
    client.bind_streams(2, 6, 10);
    server.bind_streams(3, 7, 11);
  }
  template <class End, class Peer>
  bool carry(End& from, Peer& to, std::size_t& octets) {
    bool any = false;
    while (auto error = from.poll_stream_error()) {
      any = true;
      if (error->reset) to.stream_reset(error->stream, error->code);
      to.stop_sending(error->stream, error->code);
    }
    while (auto write = from.poll_write()) {
      any = true;
      octets += write->data.size();
      BytesView rest = write->data;
      do {
        const std::size_t length = std::min(rest.size(), cut());
        to.receive(write->stream, rest.first(length), write->fin && length == rest.size());
        rest = rest.subspan(length);
      } while (!rest.empty());
    }
    return any;
  }
  template <class Respond>
  void converse(Respond respond) {
    for (int turn = 0; turn < 1000; ++turn) {
      bool any = carry(client, server, octets_up);
      while (auto request = server.poll_request()) respond(*request);
      any |= carry(server, client, octets_down);
      if (!any) return;
    }
    FAIL() << "the two ends never fall silent";
  }
  void converse() {
    converse([&](const IncomingRequest& r) { server.respond(r.id, make_doh_response(r.request.body, 60)); });
  }
  std::vector<ClientEvent> events() {
    std::vector<ClientEvent> events;
    while (auto event = client.poll_event()) events.push_back(std::move(*event));
    return events;
  }

  H3Client client;
  H3Server server;
  std::function<std::size_t()> cut = [] { return std::size_t{1'000'000}; };
  std::size_t octets_up = 0, octets_down = 0;
};

TEST(H3, OneExchangeIsSmall) {
  Pair pair;
  pair.client.submit(0, post());
  pair.converse();
  const auto events = pair.events();
  ASSERT_EQ(events.size(), 1u);
  const auto& arrived = std::get<ResponseArrived>(events[0]);
  EXPECT_EQ(arrived.id, 0u);
  EXPECT_EQ(arrived.response.status, 200);
  EXPECT_EQ(arrived.response.body, kQuery);
  RecordProperty("octets_up", static_cast<int>(pair.octets_up));
  RecordProperty("octets_down", static_cast<int>(pair.octets_down));
  EXPECT_LT(pair.octets_up, 90u) << "three stream types, SETTINGS, HEADERS, DATA with 33 octets";
  EXPECT_LT(pair.octets_down, 75u);
}

TEST(H3, ManyExchangesLeaveNoState) {
  Pair pair;
  for (std::int64_t i = 0; i < 500; ++i) {
    pair.client.submit(4 * i, i % 2 == 0 ? post(Bytes(static_cast<std::size_t>(20 + i), 1))
                                         : make_doh_request(kQuery, true, "a", "/dns-query"));
    pair.converse();
    pair.client.stream_closed(4 * i, kH3NoError);
    pair.server.stream_closed(4 * i, kH3NoError);
    const auto events = pair.events();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(std::get<ResponseArrived>(events[0]).id, static_cast<RequestId>(4 * i));
    EXPECT_EQ(pair.server.open_requests(), 0u);
  }
}

TEST(H3, LargestBodiesPassBothWays) {
  Pair pair;
  pair.client.submit(0, post(Bytes(65535, 3)));
  pair.converse();
  const auto events = pair.events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<ResponseArrived>(events[0]).response.body, Bytes(65535, 3));
}

TEST(H3, LimitsGetTheirStatus) {
  Pair pair;
  pair.client.submit(0, post(Bytes(70000)));
  Request unannounced = post(Bytes(70000));
  std::erase_if(unannounced.headers, [](const Header& h) { return h.name == "content-length"; });
  pair.client.submit(4, unannounced);
  Request many_fields = post();
  for (int i = 0; i < 20; ++i) many_fields.headers.push_back({"x-bomb", std::string(1000, 'x')});
  pair.client.submit(8, many_fields);
  pair.client.submit(12, post());
  Request head = make_doh_request(kQuery, true, "a", "/dns-query");
  head.method = "HEAD";
  pair.client.submit(16, head);
  pair.converse([&](const IncomingRequest& r) {
    EXPECT_TRUE(r.id == 12 || r.id == 16);
    pair.server.respond(r.id, make_doh_response(kQuery, 1));
  });
  std::map<RequestId, std::pair<int, bool>> seen;
  for (auto& event : pair.events()) {
    auto& arrived = std::get<ResponseArrived>(event);
    seen[arrived.id] = {arrived.response.status, !arrived.response.body.empty()};
  }
  EXPECT_EQ(
      seen,
      (std::map<RequestId, std::pair<int, bool>>{
          {0, {413, true}}, {4, {413, true}}, {8, {431, true}}, {12, {200, true}}, {16, {200, false}}}));
  EXPECT_FALSE(pair.server.has_failed());
}

TEST(H3, AnyCutOfTheInputGivesTheSameResult) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    Pair pair;
    if (round == 0) {
      pair.cut = [] { return std::size_t{1}; };
    } else {
      pair.cut = [&] { return std::size_t{1 + random() % 50}; };
    }
    for (std::int64_t i = 0; i < 5; ++i)
      pair.client.submit(4 * i, post(Bytes(static_cast<std::size_t>(20 + i), 9)));
    pair.converse();
    const auto events = pair.events();
    ASSERT_EQ(events.size(), 5u);
    for (const auto& event : events) {
      const auto& arrived = std::get<ResponseArrived>(event);
      EXPECT_EQ(arrived.response.body, Bytes(20 + arrived.id / 4, 9));
    }
  }
}

TEST(H3, ServerCloseAnswersEarlierRequestsAndRejectsLaterOnes) {
  Pair pair;
  pair.client.submit(0, post());
  std::vector<RequestId> pending;
  pair.converse([&](const IncomingRequest& r) { pending.push_back(r.id); });
  pair.server.close();
  pair.server.close();
  pair.server.receive(4, headers(kGet), true);
  const auto error = pair.server.poll_stream_error();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, 0x10bu) << "H3_REQUEST_REJECTED";
  EXPECT_FALSE(pair.server.poll_request());
  pair.server.close();
  pair.server.respond(pending.at(0), make_doh_response(kQuery, 1));
  pair.converse();
  const auto events = pair.events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<ResponseArrived>(events[0]));
  pair.client.submit(8, post());
  EXPECT_TRUE(std::holds_alternative<RequestFailed>(*pair.client.poll_event()));
}

TEST(H3, CancelledRequestsAreForgotten) {
  Pair pair;
  pair.server.receive(2, control_stream(), false);
  pair.server.receive(0, headers(kGet), true);
  pair.server.receive(4, headers(kGet), true);
  pair.server.receive(8, headers(kPost), false);
  const auto first = pair.server.poll_request();
  ASSERT_TRUE(first);
  pair.server.stop_sending(0, kH3RequestCancelled);
  pair.server.stop_sending(4, kH3RequestCancelled);
  pair.server.stream_reset(8, kH3RequestCancelled);
  EXPECT_FALSE(pair.server.poll_request()) << "stream 4 is not wanted any more";
  pair.server.respond(first->id, make_doh_response(kQuery, 1));
  while (auto write = pair.server.poll_write()) EXPECT_NE(write->stream, 0);
  std::map<std::int64_t, std::uint64_t> resets;
  while (auto error = pair.server.poll_stream_error()) {
    EXPECT_TRUE(error->reset);
    resets[error->stream] = error->code;
  }
  EXPECT_EQ(resets.size(), 3u);
  EXPECT_EQ(pair.server.open_requests(), 0u);
  EXPECT_FALSE(pair.server.has_failed());
}

struct HostilePeer {
  explicit HostilePeer(H2Limits limits = {}) : server(limits) {
    server.bind_streams(3, 7, 11);
    server.receive(2, control_stream(), false);
    drain();
  }
  void drain() {
    while (auto write = server.poll_write()) {
      auto& [data, fin] = sent[write->stream];
      data = std::move(data) + write->data;
      fin = fin || write->fin;
    }
    while (auto error = server.poll_stream_error()) errors[error->stream] = error->code;
  }
  std::size_t answer_all() {
    std::size_t n = 0;
    for (; auto r = server.poll_request(); ++n) server.respond(r->id, make_doh_response(kQuery, 1));
    drain();
    return n;
  }
  H3Server server;
  std::map<std::int64_t, std::pair<Bytes, bool>> sent;
  std::map<std::int64_t, std::uint64_t> errors;
};

TEST(H3Hostile, BrokenRulesOfTheConnectionEndIt) {
  const Bytes settings_twice = varint(0) + frame(Settings) + frame(Settings);
  const struct {
    const char* name;
    std::int64_t stream;
    Bytes data;
    bool fin;
    std::uint64_t code;
  } cases[] = {
      {"second control stream", 14, control_stream(), false, kStreamCreation},
      {"push stream from a client", 14, varint(1) + varint(0), false, kStreamCreation},
      {"control stream ends", 2, {}, true, kClosedCritical},
      {"second SETTINGS", 2, frame(Settings), false, kFrameUnexpected},
      {"DATA on the control stream", 2, frame(Data, Bytes(3)), false, kFrameUnexpected},
      {"HEADERS on the control stream", 2, headers(kGet), false, kFrameUnexpected},
      {"PUSH_PROMISE on the control stream", 2, frame(PushPromise, Bytes(3)), false, kFrameUnexpected},
      {"HTTP/2 PING on the control stream", 2, frame(6, Bytes(8)), false, kFrameUnexpected},
      // RFC 9114 §7.2.7 names H3_ID_ERROR; nghttp3 says H3_FRAME_ERROR.
      {"MAX_PUSH_ID that shrinks", 2, frame(MaxPushId, varint(5)) + frame(MaxPushId, varint(4)), false,
       kFrameError},
      {"DATA before HEADERS", 0, frame(Data, Bytes(3)), false, kFrameUnexpected},
      {"SETTINGS on a request stream", 0, frame(Settings), false, kFrameUnexpected},
      {"GOAWAY on a request stream", 0, frame(Goaway, varint(0)), false, kFrameUnexpected},
      {"PUSH_PROMISE on a request stream", 0, frame(PushPromise, varint(0)), false, kFrameUnexpected},
      {"HEADERS after trailers", 0, headers(kPost) + headers({{"a", "b"}}) + headers({{"a", "b"}}), false,
       kFrameUnexpected},
      {"truncated frame", 0, Bytes{1, 20, 0, 0}, true, kFrameError},
      {"static index out of range", 0, frame(Headers, Bytes{0, 0, 0xff, 0x40}), true, kQpackDecompression},
      {"dynamic table reference", 0, frame(Headers, Bytes{2, 0, 0x80}), true, kQpackDecompression},
      {"QPACK encoder stream with capacity", 6, qpack_encoder_stream() + Bytes{0x3f, 0xff, 0xff, 0x03}, false,
       kQpackEncoder},
      {"server-initiated stream from the client", 1, headers(kGet), true, kStreamCreation},
  };
  for (const auto& c : cases) {
    HostilePeer peer;
    peer.server.receive(c.stream, c.data, c.fin);
    peer.drain();
    EXPECT_TRUE(peer.server.has_failed()) << c.name;
    EXPECT_EQ(peer.server.close_code(), c.code) << c.name;
    EXPECT_FALSE(peer.server.poll_request()) << c.name;
    peer.server.receive(0, headers(kGet), true);
    EXPECT_FALSE(peer.server.poll_request()) << "nothing is read after a failure: " << c.name;
  }
}

TEST(H3Hostile, SettingsAreChecked) {
  const auto code_of = [](const Bytes& control) {
    H3Server server;
    server.bind_streams(3, 7, 11);
    server.receive(2, varint(0) + control, false);
    return server.close_code();
  };
  EXPECT_EQ(code_of(frame(Grease, Bytes(3))), kMissingSettings);
  EXPECT_EQ(code_of(frame(Goaway, varint(0))), kMissingSettings);
  for (std::uint64_t h2_setting : {0x02, 0x03, 0x04, 0x05}) {
    EXPECT_EQ(code_of(frame(Settings, varint(h2_setting) + varint(1))), kSettingsError) << h2_setting;
  }
  EXPECT_EQ(code_of(frame(Settings, varint(0x21) + varint(77))), kH3NoError);
  EXPECT_EQ(code_of(frame(Settings, varint(1) + varint(0) + varint(6) + varint(100) + varint(7) + varint(0))),
            kH3NoError);
}

TEST(H3Hostile, ResetOfACriticalStreamEndsTheConnection) {
  HostilePeer peer;
  peer.server.stream_reset(2, 0);
  EXPECT_EQ(peer.server.close_code(), kClosedCritical);
  HostilePeer other;
  other.server.stop_sending(3, 0);
  EXPECT_EQ(other.server.close_code(), kClosedCritical);
}

TEST(H3Hostile, ReopenedEncoderStreamIsRefused) {
  HostilePeer peer;
  peer.server.receive(6, qpack_encoder_stream(), false);
  peer.server.receive(14, qpack_encoder_stream(), false);
  EXPECT_EQ(peer.server.close_code(), kStreamCreation);
}

TEST(H3Hostile, UnknownStreamsAndFramesAreIgnored) {
  HostilePeer peer;
  peer.server.receive(14, varint(0x21) + Bytes(50), true);
  peer.server.receive(2, frame(Grease, Bytes(10)), false);
  peer.server.receive(0,
                      frame(Grease, Bytes(10)) + headers(kPost) + frame(Grease, Bytes(5, 0xee)) +
                          frame(Data, Bytes(20, 1)) + frame(Grease),
                      false);
  peer.server.receive(0, frame(Data, Bytes(13, 1)) + headers({{"trailer", "1"}}), true);
  const auto request = peer.server.poll_request();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->request.body, Bytes(33, 1)) << "skipped payload never joins the body";
  EXPECT_EQ(request->request.headers.size(), 1u);
  EXPECT_FALSE(peer.server.has_failed());
}

TEST(H3Hostile, MalformedRequestsEndTheirStreamOnly) {
  const auto with = [](Fields extra, Fields base = kGet) {
    base.insert(base.end(), extra.begin(), extra.end());
    return headers(base);
  };
  const struct {
    const char* name;
    Bytes input;
  } cases[] = {
      {"upper case name", with({{"X-Name", "a"}})},
      {"connection field", with({{"connection", "close"}})},
      {"pseudo-header after a field", with({{"a", "b"}, {":path", "/"}})},
      {"unknown pseudo-header", with({{":extra", "b"}})},
      {"response pseudo-header", with({{":status", "200"}})},
      {"no path", headers({{":method", "GET"}, {":scheme", "https"}, {":authority", "a"}})},
      {"no method", headers({{":scheme", "https"}, {":authority", "a"}, {":path", "/"}})},
      {"two methods", with({{":method", "GET"}}, {{":method", "GET"}, {":scheme", "https"}, {":path", "/"}})},
      {"no authority", headers({{":method", "GET"}, {":scheme", "https"}, {":path", "/"}})},
      {"content-length too large", with({{"content-length", "5"}}, kPost) + frame(Data, Bytes(4))},
      {"content-length too small", with({{"content-length", "3"}}, kPost) + frame(Data, Bytes(4))},
      {"content-length not a number", with({{"content-length", "x"}}, kPost)},
      {"pseudo-header in trailers", headers(kPost) + headers({{":path", "/"}})},
  };
  for (const auto& c : cases) {
    HostilePeer peer;
    peer.server.receive(0, c.input, true);
    peer.drain();
    EXPECT_FALSE(peer.server.has_failed()) << c.name;
    EXPECT_EQ(peer.errors[0], kH3MessageError) << c.name;
    EXPECT_EQ(peer.server.open_requests(), 0u) << c.name;
    EXPECT_FALSE(peer.server.poll_request()) << c.name;
    peer.server.stream_closed(0, kH3MessageError);
    peer.server.receive(4, headers(kGet), true);
    EXPECT_EQ(peer.answer_all(), 1u) << c.name;
    EXPECT_TRUE(peer.sent[4].second) << c.name;
  }
}

TEST(H3Hostile, EmptyStreamIsAnIncompleteRequest) {
  HostilePeer peer;
  peer.server.receive(0, {}, true);
  peer.drain();
  EXPECT_EQ(peer.errors[0], kH3RequestIncomplete);
  EXPECT_FALSE(peer.server.has_failed());
}

TEST(H3Hostile, BadStreamsAreCountedAndFreed) {
  HostilePeer peer;
  std::int64_t sent = 0;
  for (; !peer.server.has_failed() && sent < 100'000; ++sent) {
    peer.server.receive(4 * sent, headers({{":method", "GET"}}), true);
    peer.drain();
    peer.server.stream_closed(4 * sent, kH3MessageError);
    EXPECT_EQ(peer.server.open_requests(), 0u);
  }
  EXPECT_EQ(peer.server.close_code(), kH3ExcessiveLoad);
  EXPECT_LE(sent, 201);
}

TEST(H3Hostile, RapidResetEndsTheConnection) {
  HostilePeer peer;
  std::int64_t sent = 0;
  for (; !peer.server.has_failed() && sent < 100'000; ++sent) {
    peer.server.receive(4 * sent, headers(kGet), false);
    peer.server.stream_reset(4 * sent, kH3RequestCancelled);
    peer.server.stream_closed(4 * sent, kH3RequestCancelled);
  }
  EXPECT_EQ(peer.server.close_code(), kH3ExcessiveLoad);
  EXPECT_LE(sent, 201);
}

TEST(H3Hostile, UnknownFramesWithoutEndAreBounded) {
  HostilePeer peer;
  int sent = 0;
  for (; !peer.server.has_failed() && sent < 100'000; ++sent) peer.server.receive(2, frame(Grease), false);
  EXPECT_EQ(peer.server.close_code(), kH3ExcessiveLoad);
  EXPECT_LT(sent, 2000);
}

TEST(H3Hostile, GreaseInEveryRequestOfALongConnectionIsFine) {
  HostilePeer peer;
  for (std::int64_t i = 0; i < 20'000; ++i) {
    peer.server.receive(4 * i, frame(Grease, Bytes(3)) + headers(kGet) + frame(Grease), true);
    ASSERT_EQ(peer.answer_all(), 1u);
    peer.server.stream_closed(4 * i, kH3NoError);
    peer.sent.clear();
  }
  EXPECT_FALSE(peer.server.has_failed());
}

TEST(H3Hostile, BodiesOfManyRequestsAreCappedTogether) {
  HostilePeer peer({.max_buffered_body_bytes = 100'000});
  for (std::int64_t i = 0; i < 50 && !peer.server.has_failed(); ++i) {
    peer.server.receive(4 * i, headers(kPost) + frame(Data, Bytes(16000)), false);
  }
  EXPECT_EQ(peer.server.close_code(), kH3ExcessiveLoad);
}

TEST(H3Hostile, EndlessHeadersAreAnsweredBeforeTheyEnd) {
  HostilePeer peer;
  Fields fields = kGet;
  for (int i = 0; i < 100; ++i) fields.push_back({"x", std::string(300, 'x')});
  const Bytes section = field_section(fields);
  // The frame announces a gigabyte; only what arrived is ever held.
  peer.server.receive(0, varint(Headers) + varint(1'000'000'000) + section, false);
  peer.drain();
  EXPECT_TRUE(peer.sent[0].second) << "431 is whole";
  EXPECT_EQ(peer.errors[0], kH3NoError) << "and the rest is not wanted";
  EXPECT_FALSE(peer.server.has_failed());
}

TEST(H3Hostile, OneFieldOver64KiBEndsTheConnection) {
  HostilePeer peer;
  Fields fields = kGet;
  fields.back().second += std::string(90'000, 'A');
  peer.server.receive(0, headers(fields), true);
  EXPECT_EQ(peer.server.close_code(), kH3ExcessiveLoad);
}

// What a client does with a bad server.

struct ServedClient {
  ServedClient() {
    client.bind_streams(2, 6, 10);
    client.submit(0, post());
    client.receive(3, control_stream(), false);
    collect();
  }
  void feed(std::int64_t stream, const Bytes& data, bool fin) {
    client.receive(stream, data, fin);
    collect();
  }
  void collect() {
    while (client.poll_write()) {
    }
    while (auto error = client.poll_stream_error()) errors[error->stream] = error->code;
    while (auto event = client.poll_event()) events.push_back(std::move(*event));
  }
  std::string failure() const {
    for (const auto& event : events) {
      if (auto* failed = std::get_if<RequestFailed>(&event)) return failed->reason;
    }
    return "";
  }
  H3Client client;
  std::map<std::int64_t, std::uint64_t> errors;
  std::vector<ClientEvent> events;
};

TEST(H3BadServer, InterimResponsesAndTrailersAreSkipped) {
  ServedClient c;
  c.feed(0,
         headers({{":status", "103"}, {"link", "x"}}) + headers({{":status", "200"}}) +
             frame(Data, Bytes(40)) + headers({{"t", "1"}}),
         true);
  ASSERT_EQ(c.events.size(), 1u);
  const auto& response = std::get<ResponseArrived>(c.events[0]).response;
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.headers.empty());
  EXPECT_EQ(response.body.size(), 40u);
}

TEST(H3BadServer, OversizeIsGivenUp) {
  ServedClient body;
  body.feed(0, headers({{":status", "200"}}) + frame(Data, Bytes(70000)), true);
  EXPECT_THAT(body.failure(), HasSubstr("longer than any DNS message"));
  EXPECT_EQ(body.errors[0], kH3RequestCancelled);
  ServedClient fields;
  Fields many = {{":status", "200"}};
  for (int i = 0; i < 100; ++i) many.push_back({"x", std::string(300, 'x')});
  fields.feed(0, headers(many), false);
  EXPECT_THAT(fields.failure(), HasSubstr("header fields too large"));
}

TEST(H3BadServer, FaultsOfOneResponse) {
  for (const Bytes& input :
       {headers({{":status", "200"}, {"content-length", "40"}}) + frame(Data, Bytes(39)),
        headers({{"a", "b"}}), headers({{":status", "2x0"}}), headers({{":status", "200"}, {"A", "b"}})}) {
    ServedClient c;
    c.feed(0, input, true);
    EXPECT_THAT(c.failure(), HasSubstr("malformed response"));
    EXPECT_EQ(c.errors[0], kH3MessageError);
    EXPECT_EQ(c.client.close_code(), kH3NoError);
  }
  ServedClient reset;
  reset.client.stream_reset(0, 0x10b);
  reset.collect();
  EXPECT_THAT(reset.failure(), HasSubstr("0x10b"));
  ServedClient closed;
  closed.client.stream_closed(0, 0);
  closed.collect();
  EXPECT_FALSE(closed.failure().empty());
}

TEST(H3BadServer, FaultsOfTheConnection) {
  const struct {
    std::int64_t stream;
    Bytes data;
    std::uint64_t code;
  } cases[] = {
      {0, frame(Data, Bytes(3)), kFrameUnexpected},
      {3, frame(Settings), kFrameUnexpected},
      {15, varint(0) + frame(Settings), kStreamCreation},
      {1, headers({{":status", "200"}}), kStreamCreation},
      {0, frame(PushPromise, varint(0)), kFrameUnexpected},
      {3, frame(Goaway, varint(1)), kIdError},
      {0, frame(Headers, Bytes{2, 0, 0x80}), kQpackDecompression},
  };
  for (const auto& c : cases) {
    ServedClient client;
    client.feed(c.stream, c.data, false);
    EXPECT_EQ(client.client.close_code(), c.code) << to_hex(c.data);
    EXPECT_FALSE(client.failure().empty());
    ASSERT_FALSE(client.events.empty());
    EXPECT_TRUE(std::holds_alternative<ConnectionFailed>(client.events.back()));
  }
}

TEST(H3BadServer, GoawayFailsOnlyWhatWasNotProcessed) {
  ServedClient c;
  c.client.submit(4, post());
  c.feed(3, frame(Goaway, varint(4)), false);
  ASSERT_EQ(c.events.size(), 1u);
  EXPECT_EQ(std::get<RequestFailed>(c.events[0]).id, 4u);
  c.feed(0, headers({{":status", "200"}}) + frame(Data, Bytes(40)), true);
  EXPECT_TRUE(std::holds_alternative<ResponseArrived>(c.events.back()));
}

TEST(H3, RandomDamageNeverBreaksEitherEnd) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto damage = [&](Bytes& data) {
    for (auto n = random() % 3; n > 0 && !data.empty(); --n) {
      data[random() % data.size()] = static_cast<std::uint8_t>(random());
    }
  };
  for (int i = 0; i < 3000; ++i) {
    Pair pair;
    pair.client.submit(0, post());
    pair.client.submit(4, make_doh_request(kQuery, true, "a", "/dns-query"));
    while (auto write = pair.client.poll_write()) {
      damage(write->data);
      pair.server.receive(write->stream, write->data, write->fin);
    }
    while (auto r = pair.server.poll_request()) pair.server.respond(r->id, make_doh_response(kQuery, 1));
    while (auto write = pair.server.poll_write()) {
      damage(write->data);
      pair.client.receive(write->stream, write->data, write->fin);
    }
    while (pair.client.poll_write()) {
    }
    pair.events();
  }
}

}  // namespace
}  // namespace doxlab::http
