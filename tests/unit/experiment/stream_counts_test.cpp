#include "experiment/stream_counts.hpp"

#include <gtest/gtest.h>

#include "experiment/measured.hpp"

namespace doxlab::experiment {
namespace {

using Event = WatchedStream::Event;
using enum Event::Kind;

Timestamp at(double ms) { return Timestamp(1h) + from_ms(ms); }

/// A connection that grows event by event, with 20 ms there and back.
class Watched {
 public:
  Watched() {
    counters_.timestamps = counters_.sack = counters_.window_scaling = true;
    add(Connecting, 0, 1, 0);
    counters_.shortest_round_trip = 20ms;
    add(Connected, 20, 2, 1);
  }
  Watched& add(Event::Kind kind, double ms, std::uint32_t out, std::uint32_t in, std::uint64_t bytes_out = 0, std::uint64_t bytes_in = 0) {
    counters_.segments_out = out;
    counters_.segments_in = in;
    counters_.bytes_out = bytes_out;
    stream.events.push_back({.kind = kind, .when = at(ms), .bytes_in = bytes_in, .counters = counters_});
    return *this;
  }
  void end(double ms, std::uint32_t out, std::uint32_t in, std::uint64_t bytes_out, std::uint64_t bytes_in) {
    add(Readable, ms, out, in, bytes_out, bytes_in);
    stream.end = stream.events.back();
    stream.events.pop_back();
  }
  std::size_t round_trips(double started, double answered) const {
    Sample sample;
    sample.result.started = at(started);
    sample.result.answered = at(answered);
    sample.streams = StreamCounts{.steps = steps_of(stream, at(started)), .volumes = {}};
    const auto measured = measure(sample);
    return measured.path ? measured.path->round_trips() : 0;
  }

  WatchedStream stream;

 private:
  net::TcpCounters counters_;
};

Watched query_over_tcp() {
  Watched out;
  out.add(Sending, 20.1, 2, 1).add(Readable, 40.2, 3, 2, 42).add(Received, 40.2, 3, 3, 42, 58);
  out.end(90, 5, 5, 42, 58);
  return out;
}

TEST(StreamCounts, AreSegmentsWithTheirHeaders) {
  const auto watched = query_over_tcp();
  const auto volumes = count_volumes(watched.stream, at(0), at(40.3));
  EXPECT_EQ(volumes.to_server.packets, 3);
  EXPECT_EQ(volumes.to_server.ip_bytes, 60 + 52 + 52 + 42) << "SYN, acknowledgement, query";
  EXPECT_EQ(volumes.to_client.packets, 3);
  EXPECT_EQ(volumes.to_client.ip_bytes, 60 + 52 + 52 + 58) << "SYN-ACK, acknowledgement, answer";
  EXPECT_EQ(volumes.to_server_after.packets, 2);
  EXPECT_EQ(volumes.to_server_after.ip_bytes, 104);
  EXPECT_EQ(volumes.to_client_after.packets, 2);
  EXPECT_EQ(volumes.lost, 0);
}

TEST(StreamCounts, HaveTheOptionsThatWereNegotiated) {
  auto watched = query_over_tcp();
  for (auto& event : watched.stream.events) event.counters.timestamps = event.counters.window_scaling = false;
  watched.stream.end.reset();
  watched.stream.ipv6 = true;
  const auto volumes = count_volumes(watched.stream, at(0), at(40.3));
  EXPECT_EQ(volumes.to_server.ip_bytes, 80 + 60 + 60 + 42) << "only the SYN offers them";
  EXPECT_EQ(volumes.to_client.ip_bytes, 40 + 20 + 4 + 4 + 60 + 60 + 58) << "SYN-ACK with MSS and SACK-permitted";
}

TEST(StreamCounts, CountTheSynAsOftenAsItWasSent) {
  auto watched = query_over_tcp();
  for (auto& event : watched.stream.events) {
    event.counters.retransmissions = 1;
    ++event.counters.segments_out;
  }
  const auto volumes = count_volumes(watched.stream, at(0), at(40.3));
  EXPECT_EQ(volumes.to_server.packets, 4);
  EXPECT_EQ(volumes.to_server.ip_bytes, 60 + 60 + 52 + 52 + 42);
}

TEST(StreamCounts, OfAConnectionThatWasOpenBeginWithTheQuery) {
  Watched watched;
  watched.add(Sending, 20.1, 2, 1).add(Readable, 40.2, 3, 2, 42).add(Received, 40.2, 3, 3, 42, 58);
  watched.add(Sending, 200, 4, 3, 42, 58).add(Readable, 220.2, 5, 4, 84, 58).add(Received, 220.2, 5, 4, 84, 116);
  const auto volumes = count_volumes(watched.stream, at(199.9), at(220.3));
  EXPECT_EQ(volumes.to_server.packets, 1);
  EXPECT_EQ(volumes.to_server.ip_bytes, 52 + 42);
  EXPECT_EQ(volumes.to_client.packets, 1);
  EXPECT_EQ(volumes.to_client.ip_bytes, 52 + 58);
  EXPECT_EQ(watched.round_trips(199.9, 220.3), 1);
}

TEST(StreamCounts, WithoutAnAnswerAllBelongsToTheAttempt) {
  Watched watched;
  watched.add(Sending, 20.1, 2, 1);
  watched.end(1000, 8, 2, 252, 0);
  const auto volumes = count_volumes(watched.stream, at(0), std::nullopt);
  EXPECT_EQ(volumes.to_server.packets, 8);
  EXPECT_EQ(volumes.to_server_after.packets, 0);
}

TEST(StreamSteps, AreCountedAsRoundTrips) {
  EXPECT_EQ(query_over_tcp().round_trips(0, 40.3), 2);
}

TEST(StreamSteps, WhatCameTooSoonAnswersWhatWasSentBefore) {
  // A ticket and SETTINGS come while the query is on its way; the client answers them at once.
  Watched watched;
  watched.add(Sending, 20.1, 2, 1).add(Received, 41, 3, 4, 300, 4000);
  watched.add(Sending, 42, 4, 4, 300, 4000).add(Received, 48, 5, 5, 500, 4200).add(Sending, 48.1, 5, 5, 500, 4200);
  watched.add(Received, 62.4, 6, 6, 540, 4700);
  EXPECT_EQ(watched.round_trips(0, 62.5), 3);
}

TEST(StreamSteps, SilenceWithinAFlightWaitsForAcknowledgements) {
  // Ten segments, and the rest one round trip after the first of them.
  Watched watched;
  watched.add(Sending, 20.1, 2, 1).add(Received, 41.5, 12, 11, 300, 14000).add(Received, 61.2, 14, 13, 300, 16000);
  watched.add(Sending, 62, 15, 13, 300, 16000).add(Received, 82.2, 16, 14, 400, 16500);
  EXPECT_EQ(watched.round_trips(0, 82.3), 4);
}

TEST(StreamSteps, ServerThatGoesOnSendingWaitsForNothing) {
  Watched watched;
  watched.add(Sending, 20.1, 2, 1).add(Received, 41.5, 12, 11, 300, 14000).add(Received, 44, 14, 13, 300, 16000);
  watched.add(Sending, 45, 15, 13, 300, 16000).add(Received, 65.2, 16, 14, 400, 16500);
  EXPECT_EQ(watched.round_trips(0, 65.3), 3);
}

TEST(StreamCounts, OfNothingAreNothing) {
  const WatchedStream nothing;
  EXPECT_EQ(count_volumes(nothing, at(0), at(1)).to_server.packets, 0);
  EXPECT_TRUE(steps_of(nothing, at(0)).empty());
}

}  // namespace
}  // namespace doxlab::experiment
