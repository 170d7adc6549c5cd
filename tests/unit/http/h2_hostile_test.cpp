// Peers that break the rules of HTTP/2 or abuse what the rules allow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "http/h2.hpp"
#include "unit/http/h2_frames.hpp"

namespace doxlab::http {
namespace {

using namespace test;
using ::testing::HasSubstr;

constexpr std::uint32_t kNoError = 0, kProtocolError = 1, kFlowControlError = 3, kStreamClosed = 5,
                        kFrameSizeError = 6, kRefusedStream = 7, kCompressionError = 9, kEnhanceYourCalm = 11;

/// A server with an opened connection that remembers every frame it sent.
struct Peer {
  explicit Peer(H2Limits limits = {}) : server(limits) { send(opening()); }

  void send(const Bytes& bytes) {
    server.receive(bytes);
    take();
  }
  void take() {
    for (Frame& f : split(server.take_output())) sent.push_back(std::move(f));
  }
  void request(std::uint32_t stream) {
    send(frame(Headers, kEndHeaders | kEndStream, stream, header_block(kGet)));
  }
  std::size_t answer_all() {
    std::size_t n = 0;
    for (; auto r = server.poll_request(); ++n) server.respond(r->id, make_doh_response(Bytes(100), 1));
    take();
    return n;
  }
  std::optional<std::uint32_t> goaway() const { return goaway_code(sent); }

  H2Server server;
  std::vector<Frame> sent;
};

TEST(H2Hostile, ServerSendsSettingsFirst) {
  Peer peer;
  ASSERT_FALSE(peer.sent.empty());
  EXPECT_EQ(peer.sent[0].type, Settings);
  EXPECT_EQ(to_hex(peer.sent[0].payload), "000300000064000600004000");
}

TEST(H2Hostile, Http1IsClosedWithGoaway) {
  H2Server server;
  server.receive(as_bytes("GET /dns-query?dns=AAAB HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto frames = split(server.take_output());
  EXPECT_EQ(goaway_code(frames), kProtocolError);
  EXPECT_TRUE(server.is_closed());
  server.receive(opening());
  EXPECT_TRUE(server.take_output().empty());
}

TEST(H2Hostile, FramesAgainstTheRulesEndTheConnection) {
  const struct {
    const char* name;
    Bytes input;
    std::uint32_t code;
  } cases[] = {
      {"DATA on stream 0", frame(Data, 0, 0, Bytes(3)), kProtocolError},
      {"HEADERS on stream 0", frame(Headers, 5, 0, header_block(kGet)), kProtocolError},
      {"HEADERS on an even stream", frame(Headers, 5, 2, header_block(kGet)), kProtocolError},
      {"DATA on an idle stream", frame(Data, 0, 5, Bytes(3)), kProtocolError},
      {"RST_STREAM on an idle stream", frame(RstStream, 0, 5, u32(8)), kProtocolError},
      {"WINDOW_UPDATE on an idle stream", frame(WindowUpdate, 0, 5, u32(8)), kProtocolError},
      {"WINDOW_UPDATE of 0", frame(WindowUpdate, 0, 0, u32(0)), kProtocolError},
      {"connection window over 2^31-1", frame(WindowUpdate, 0, 0, u32(0x7fffffff)), kFlowControlError},
      {"SETTINGS of 5 octets", frame(Settings, 0, 0, Bytes(5)), kFrameSizeError},
      {"SETTINGS ACK with payload", frame(Settings, kAck, 0, Bytes(6)), kFrameSizeError},
      {"SETTINGS on a stream", frame(Settings, 0, 1, Bytes(6)), kProtocolError},
      {"ENABLE_PUSH 2", frame(Settings, 0, 0, Bytes{0, 2, 0, 0, 0, 2}), kProtocolError},
      {"INITIAL_WINDOW_SIZE over 2^31-1", frame(Settings, 0, 0, Bytes{0, 4, 0x80, 0, 0, 0}),
       kFlowControlError},
      {"MAX_FRAME_SIZE 1", frame(Settings, 0, 0, Bytes{0, 5, 0, 0, 0, 1}), kProtocolError},
      {"PING of 7 octets", frame(Ping, 0, 0, Bytes(7)), kFrameSizeError},
      {"PUSH_PROMISE from a client", frame(PushPromise, 4, 1, Bytes(4)), kProtocolError},
      {"CONTINUATION without HEADERS", frame(Continuation, 4, 1, Bytes(4)), kProtocolError},
      {"frame of 16,385 octets", frame(Data, 0, 1, Bytes(16385)), kFrameSizeError},
      {"HPACK index out of range", frame(Headers, 5, 1, Bytes{0xff, 0xff, 0x7f}), kCompressionError},
      {"HPACK truncated", frame(Headers, 5, 1, Bytes{0x00, 0x05, 'a'}), kCompressionError},
      {"HEADERS padding too long", frame(Headers, 5 | 8, 1, Bytes{200, 0x82}), kProtocolError},
      {"second frame inside a header block",
       frame(Headers, 1, 1, header_block(kGet)) + frame(Ping, 0, 0, Bytes(8)), kProtocolError},
  };
  for (const auto& c : cases) {
    Peer peer;
    peer.send(c.input);
    EXPECT_EQ(peer.goaway(), c.code) << c.name;
    EXPECT_TRUE(peer.server.is_closed()) << c.name;
    EXPECT_FALSE(peer.server.poll_request()) << c.name;
  }
}

TEST(H2Hostile, MalformedRequestsEndTheirStreamOnly) {
  const auto with = [](Fields extra, Fields base = kGet) {
    base.insert(base.end(), extra.begin(), extra.end());
    return base;
  };
  const struct {
    const char* name;
    Fields fields;
  } cases[] = {
      {"upper case name", with({{"X-Name", "a"}})},
      {"connection field", with({{"connection", "close"}})},
      {"transfer-encoding", with({{"transfer-encoding", "chunked"}})},
      {"te other than trailers", with({{"te", "gzip"}})},
      {"pseudo-header after a field", with({{"a", "b"}, {":path", "/"}})},
      {"unknown pseudo-header", with({{":extra", "b"}})},
      {"response pseudo-header", with({{":status", "200"}})},
      {"two methods", {{":method", "GET"}, {":method", "GET"}, {":scheme", "https"}, {":path", "/"}}},
      {"no path", {{":method", "GET"}, {":scheme", "https"}}},
      {"empty path", {{":method", "GET"}, {":scheme", "https"}, {":path", ""}}},
      {"no scheme", {{":method", "GET"}, {":path", "/"}}},
      {"no method", {{":scheme", "https"}, {":path", "/"}}},
      {"content-length without content", with({{"content-length", "5"}})},
  };
  for (const auto& c : cases) {
    Peer peer;
    peer.send(frame(Headers, kEndHeaders | kEndStream, 1, header_block(c.fields)));
    EXPECT_EQ(reset_code(peer.sent, 1), kProtocolError) << c.name;
    EXPECT_FALSE(peer.server.poll_request()) << c.name;
    EXPECT_FALSE(peer.goaway()) << c.name;
    peer.request(3);
    EXPECT_EQ(peer.answer_all(), 1u) << c.name;
    EXPECT_EQ(peer.server.open_requests(), 0u) << c.name;
  }
}

TEST(H2Hostile, ContentLengthThatDoesNotMatchIsAStreamError) {
  for (const char* length : {"4", "6", "x", "-1"}) {
    Peer peer;
    Fields fields = kPost;
    fields.push_back({"content-length", length});
    peer.send(frame(Headers, kEndHeaders, 1, header_block(fields)) + frame(Data, kEndStream, 1, Bytes(5)));
    EXPECT_EQ(reset_code(peer.sent, 1), kProtocolError) << length;
    EXPECT_FALSE(peer.server.poll_request()) << length;
  }
}

TEST(H2Hostile, OddButLegalRequestsAreServed) {
  Peer peer;
  // One octet a DATA frame, padding, trailers, END_STREAM on an empty DATA frame.
  peer.send(frame(Headers, kEndHeaders, 1, header_block(kPost)));
  for (int i = 0; i < 33; ++i) peer.send(frame(Data, 0, 1, Bytes{1}));
  peer.send(frame(Data, kEndStream, 1));
  peer.send(frame(Headers, kEndHeaders, 3, header_block(kPost)) +
            frame(Data, 8, 3, Bytes{4, 1, 2, 3, 0, 0, 0, 0}) +
            frame(Headers, kEndHeaders | kEndStream, 3, header_block({{"x-trailer", "1"}})));
  auto first = peer.server.poll_request(), second = peer.server.poll_request();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->request.body, Bytes(33, 1));
  EXPECT_EQ(second->request.body, (Bytes{1, 2, 3}));
  EXPECT_EQ(second->request.headers.size(), 1u) << "trailers are not headers";
}

TEST(H2Hostile, StreamsOverTheLimitAreRefusedUntilTheClientKnowsIt) {
  Peer peer;
  for (std::uint32_t i = 0; i < 101; ++i) peer.request(1 + 2 * i);
  EXPECT_EQ(reset_code(peer.sent, 201), kRefusedStream);
  EXPECT_FALSE(peer.goaway());
  EXPECT_EQ(peer.answer_all(), 100u);
  peer.send(frame(Settings, kAck, 0));
  for (std::uint32_t i = 0; i < 101; ++i) peer.request(203 + 2 * i);
  EXPECT_EQ(peer.goaway(), kProtocolError);
}

TEST(H2Hostile, RapidResetEndsInEnhanceYourCalm) {
  Peer peer;
  std::uint32_t sent = 0;
  while (!peer.server.is_closed() && sent < 100000) {
    const std::uint32_t stream = 1 + 2 * sent++;
    peer.send(frame(Headers, kEndHeaders | kEndStream, stream, header_block(kGet)) +
              frame(RstStream, 0, stream, u32(8)));
    EXPECT_FALSE(peer.server.poll_request());
  }
  EXPECT_EQ(peer.goaway(), kEnhanceYourCalm);
  EXPECT_LE(sent, 201u);
}

TEST(H2Hostile, RapidResetInOneReadIsBounded) {
  Peer peer;
  Bytes all;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    all = std::move(all) + frame(Headers, kEndHeaders | kEndStream, 1 + 2 * i, header_block(kGet)) +
          frame(RstStream, 0, 1 + 2 * i, u32(8));
  }
  peer.send(all);
  EXPECT_EQ(peer.goaway(), kEnhanceYourCalm);
  EXPECT_FALSE(peer.server.poll_request());
}

TEST(H2Hostile, MadeYouResetEndsInEnhanceYourCalm) {
  // The client never resets: it makes the server reset, by a window update of 0 or DATA after the end.
  const auto bad_window = [](std::uint32_t stream) { return frame(WindowUpdate, 0, stream, u32(0)); };
  const auto big_window = [](std::uint32_t stream) {
    return frame(WindowUpdate, 0, stream, u32(0x7fffffff));
  };
  const auto late_data = [](std::uint32_t stream) { return frame(Data, 0, stream, Bytes(1)); };
  const auto self_dependency = [](std::uint32_t stream) {
    return frame(Priority, 0, stream, u32(stream) + Bytes{1});
  };
  const std::function<Bytes(std::uint32_t)> ways[] = {bad_window, big_window, late_data, self_dependency};
  for (const auto& way : ways) {
    Peer peer;
    std::uint32_t sent = 0;
    while (!peer.server.is_closed() && sent < 5000) {
      const std::uint32_t stream = 1 + 2 * sent++;
      peer.request(stream);
      while (peer.server.poll_request()) {
      }  // the resolver works on it
      peer.send(way(stream));
    }
    EXPECT_TRUE(peer.goaway());
    EXPECT_LE(sent, 202u);
  }
}

TEST(H2Hostile, ResetsAreForgivenByAnswers) {
  Peer peer;
  peer.send(frame(WindowUpdate, 0, 0, u32(1 << 30)));
  for (std::uint32_t i = 0; i < 2000; ++i) {
    peer.request(1 + 4 * i);
    EXPECT_EQ(peer.answer_all(), 1u);
    peer.send(frame(Headers, kEndHeaders | kEndStream, 3 + 4 * i, header_block(kGet)) +
              frame(RstStream, 0, 3 + 4 * i, u32(8)));
  }
  EXPECT_FALSE(peer.goaway());
}

TEST(H2Hostile, FloodsOfEmptyFramesAreBounded) {
  const struct {
    const char* name;
    Bytes piece;
  } floods[] = {
      {"PING", frame(Ping, 0, 0, Bytes(8))},
      {"PING ACK", frame(Ping, kAck, 0, Bytes(8))},
      {"SETTINGS", frame(Settings, 0, 0)},
      {"SETTINGS with changes", frame(Settings, 0, 0, Bytes{0, 1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1})},
      {"PRIORITY", frame(Priority, 0, 7, u32(0) + Bytes{1})},
      {"WINDOW_UPDATE", frame(WindowUpdate, 0, 0, u32(1))},
      {"empty DATA", frame(Data, 0, 1)},
      {"empty padded DATA", frame(Data, 8, 1, Bytes{0})},
  };
  for (const auto& flood : floods) {
    Peer peer;
    peer.send(frame(Headers, kEndHeaders, 1, header_block(kPost)));
    std::size_t sent = 0;
    for (; !peer.server.is_closed() && sent < 200'000; ++sent) peer.send(flood.piece);
    EXPECT_LT(sent, 70'000u) << flood.name;
    EXPECT_TRUE(peer.goaway()) << flood.name;
  }
}

TEST(H2Hostile, PingsThatAreNotReadAreBounded) {
  Peer peer;
  Bytes pings;
  for (int i = 0; i < 1000; ++i) pings = std::move(pings) + frame(Ping, 0, 0, Bytes(8));
  peer.server.receive(pings);  // all in one read: the answers would pile up
  peer.take();
  EXPECT_EQ(peer.goaway(), kEnhanceYourCalm);
  EXPECT_LE(count(peer.sent, Ping), 201u);
}

TEST(H2Hostile, ContinuationFloodIsBounded) {
  Peer peer;
  peer.send(frame(Headers, 0, 1, Bytes{0x82}));
  std::size_t sent = 0;
  for (; !peer.server.is_closed() && sent < 10000; ++sent)
    peer.send(frame(Continuation, 0, 1, Bytes(1, 0x82)));
  EXPECT_TRUE(peer.server.is_closed());
  EXPECT_LT(sent, 100u);
}

TEST(H2Hostile, HpackBombGets431AndBoundedMemory) {
  Peer peer;
  Bytes block = header_block(kGet);
  // A 4,000-octet field enters the dynamic table; each further octet repeats it.
  block.insert(block.end(), {0x40, 1, 'b', 0x7f, 0xa1, 0x1e});
  block.resize(block.size() + 4000, 'v');
  block.resize(block.size() + 10000, 0xbe);
  peer.send(frame(Headers, kEndHeaders | kEndStream, 1, block));
  EXPECT_FALSE(peer.server.poll_request());
  EXPECT_FALSE(peer.goaway());
  ASSERT_EQ(count(peer.sent, Headers), 1u);
  EXPECT_EQ(count(peer.sent, Data), 1u) << "431 has a text body";
  peer.request(3);
  EXPECT_EQ(peer.answer_all(), 1u);
}

TEST(H2Hostile, WindowOfZeroHoldsAnswersUpToTheCap) {
  Peer peer({.max_queued_output_bytes = 100'000});
  peer.send(frame(Settings, 0, 0, Bytes{0, 4, 0, 0, 0, 0}));
  std::uint32_t answers = 0;
  for (; !peer.server.is_closed() && answers < 1000; ++answers) {
    peer.request(1 + 2 * answers);
    auto request = peer.server.poll_request();
    if (!request) break;
    peer.server.respond(request->id, make_doh_response(Bytes(10'000), 1));
    peer.take();
  }
  EXPECT_EQ(count(peer.sent, Data), 0u);
  EXPECT_EQ(peer.goaway(), kEnhanceYourCalm);
  EXPECT_LE(answers, 12u);
}

TEST(H2Hostile, WindowOfZeroThatOpensLaterDeliversTheAnswer) {
  Peer peer;
  peer.send(frame(Settings, 0, 0, Bytes{0, 4, 0, 0, 0, 0}));
  peer.request(1);
  EXPECT_EQ(peer.answer_all(), 1u);
  EXPECT_EQ(count(peer.sent, Data), 0u);
  for (int i = 0; i < 100; ++i) peer.send(frame(WindowUpdate, 0, 1, u32(1)));
  EXPECT_EQ(count(peer.sent, Data), 100u);
  EXPECT_EQ(peer.sent.back().flags & kEndStream, kEndStream);
  EXPECT_EQ(peer.server.open_requests(), 0u);
}

TEST(H2Hostile, SettingsStormDuringAnswersIsSafe) {
  Peer peer;
  for (std::uint32_t i = 0; i < 50; ++i) {
    peer.send(frame(Headers, kEndHeaders | kEndStream, 1 + 2 * i, header_block(kGet)) +
              frame(Settings, 0, 0, Bytes{0, 4, 0, 0, 0, static_cast<std::uint8_t>(i), 0, 1, 0, 0, 0, 0}));
    auto request = peer.server.poll_request();
    ASSERT_TRUE(request);
    peer.server.respond(request->id, make_doh_response(Bytes(300), 1));
    peer.send(frame(Settings, 0, 0, Bytes{0, 4, 0, 0, 1, 0, 0, 1, 0, 0, 16, 0}));
  }
  EXPECT_FALSE(peer.goaway());
}

TEST(H2Hostile, BodiesOfManyRequestsAreCappedTogether) {
  Peer peer({.max_buffered_body_bytes = 100'000});
  for (std::uint32_t i = 0; i < 50 && !peer.server.is_closed(); ++i) {
    peer.send(frame(Headers, kEndHeaders, 1 + 2 * i, header_block(kPost)) +
              frame(Data, 0, 1 + 2 * i, Bytes(16000)));
  }
  EXPECT_EQ(peer.goaway(), kEnhanceYourCalm);
}

TEST(H2Hostile, DataAfterTheEndLeavesOtherStreamsAlone) {
  Peer peer;
  peer.request(1);
  peer.request(3);
  peer.send(frame(Data, 0, 1, Bytes(3)));
  EXPECT_TRUE(reset_code(peer.sent, 1) == kStreamClosed || peer.goaway() == kStreamClosed);
}

// What a client does with a bad server.

struct ServedClient {
  ServedClient() {
    id = client.submit(make_doh_request(Bytes(33), false, "a", "/dns-query"));
    client.take_output();
    feed(frame(Settings, 0, 0) + frame(Settings, kAck, 0));
  }
  void feed(const Bytes& bytes) {
    client.receive(bytes);
    for (Frame& f : split(client.take_output())) sent.push_back(std::move(f));
    while (auto event = client.poll_event()) events.push_back(std::move(*event));
  }
  std::string failure() const {
    for (const auto& event : events) {
      if (auto* failed = std::get_if<RequestFailed>(&event)) return failed->reason;
    }
    return "";
  }
  H2Client client;
  RequestId id = 0;
  std::vector<Frame> sent;
  std::vector<ClientEvent> events;
};

const Bytes kOkHeaders = frame(Headers, kEndHeaders, 1, header_block({{":status", "200"}}));

TEST(H2BadServer, InterimResponsesAndTrailersAreSkipped) {
  ServedClient c;
  c.feed(frame(Headers, kEndHeaders, 1, header_block({{":status", "103"}, {"link", "x"}})) + kOkHeaders +
         frame(Data, 0, 1, Bytes(40)) +
         frame(Headers, kEndHeaders | kEndStream, 1, header_block({{"t", "1"}})));
  ASSERT_EQ(c.events.size(), 1u);
  const auto& response = std::get<ResponseArrived>(c.events[0]).response;
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.headers.empty());
  EXPECT_EQ(response.body.size(), 40u);
}

TEST(H2BadServer, BodyOverTheCapIsGivenUp) {
  ServedClient c;
  c.feed(kOkHeaders);
  for (int i = 0; i < 8; ++i) c.feed(frame(Data, 0, 1, Bytes(8192)));
  EXPECT_THAT(c.failure(), HasSubstr("longer than any DNS message"));
  EXPECT_TRUE(reset_code(c.sent, 1));
  EXPECT_FALSE(c.client.is_closed());
}

TEST(H2BadServer, TruncatedBodyIsAnError) {
  ServedClient c;
  c.feed(frame(Headers, kEndHeaders, 1, header_block({{":status", "200"}, {"content-length", "40"}})) +
         frame(Data, kEndStream, 1, Bytes(39)));
  EXPECT_THAT(c.failure(), HasSubstr("PROTOCOL_ERROR"));
}

TEST(H2BadServer, HeadersOverTheLimitAreGivenUp) {
  ServedClient c;
  Fields fields = {{":status", "200"}};
  for (int i = 0; i < 120; ++i) fields.push_back({"x", std::string(120, 'x')});
  c.feed(frame(Headers, kEndHeaders, 1, header_block(fields)));
  EXPECT_THAT(c.failure(), HasSubstr("header fields too large"));
}

TEST(H2BadServer, ResetGoawayAndGarbageFailTheRequest) {
  const struct {
    Bytes input;
    const char* reason;
    bool ends;
  } cases[] = {
      {frame(RstStream, 0, 1, u32(7)), "REFUSED_STREAM", false},
      {frame(RstStream, 0, 1, u32(2)), "INTERNAL_ERROR", false},
      {frame(Goaway, 0, 0, u32(0) + u32(0)), "REFUSED_STREAM", true},
      {frame(PushPromise, kEndHeaders, 1, u32(2) + header_block(kGet)), "", true},
      {frame(Data, 0, 1, Bytes(3)), "", true},
      {frame(Headers, kEndHeaders, 1, header_block({{"a", "b"}})), "", false},
      {to_bytes(as_bytes("HTTP/1.1 400 Bad Request\r\n\r\n")), "", true},
  };
  for (const auto& c : cases) {
    ServedClient client;
    client.feed(c.input);
    EXPECT_THAT(client.failure(), HasSubstr(c.reason));
    EXPECT_FALSE(client.failure().empty()) << to_hex(c.input);
    ASSERT_FALSE(client.events.empty());
    EXPECT_EQ(std::holds_alternative<ConnectionFailed>(client.events.back()), c.ends) << to_hex(c.input);
  }
}

TEST(H2BadServer, GoawayLetsEarlierRequestsFinish) {
  ServedClient c;
  c.feed(frame(Goaway, 0, 0, u32(1) + u32(0)));
  EXPECT_TRUE(c.events.empty());
  c.feed(kOkHeaders + frame(Data, kEndStream, 1, Bytes(40)));
  ASSERT_EQ(c.events.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<ResponseArrived>(c.events[0]));
  EXPECT_TRUE(std::get<ConnectionFailed>(c.events[1]).clean);
}

TEST(H2BadServer, FloodsAreBounded) {
  for (const Bytes& piece : {frame(Ping, 0, 0, Bytes(8)), frame(Settings, 0, 0),
                             frame(WindowUpdate, 0, 0, u32(1)), frame(Data, 0, 1)}) {
    ServedClient c;
    std::size_t sent = 0;
    for (; !c.client.is_closed() && sent < 200'000; ++sent) c.feed(piece);
    EXPECT_LT(sent, 10'000u);
    EXPECT_FALSE(c.failure().empty());
  }
}

}  // namespace
}  // namespace doxlab::http
