// Two QUIC ends in virtual time: what a handshake costs, and what loss adds to it.
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

/// A client that sends "ping" on one stream as soon as it may, and a server that sends it back.
struct Exchange {
  struct Plan {
    tls::ClientOptions client_tls = test::client_tls_options();
    tls::ServerOptions server_tls = test::server_tls_options("doq");
    Options client;
    EndpointOptions server;
    link::Impairments path;
  };

  explicit Exchange(Plan plan, std::shared_ptr<RawQuicServer> existing_server = nullptr,
                    const TicketReceived* ticket = nullptr, BytesView token = {}, Timestamp start = kStart)
      : server_tls(plan.server_tls),
        client_tls(plan.client_tls),
        server(existing_server ? existing_server
                               : std::make_shared<RawQuicServer>(server_tls, plan.server, test::echo())) {
    auto made = std::make_unique<RawQuicClient>(
        client_tls, plan.client, "doq", start, ticket ? &ticket->ticket : nullptr,
        ticket ? BytesView(ticket->transport_parameters) : BytesView(), token);
    client = made.get();
    client->on_event = [this](Event& event) {
      if (std::holds_alternative<HandshakeCompleted>(event)) {
        handshake_at = pair->now - pair->started;
        ask();
      }
      if (const auto* data = std::get_if<StreamData>(&event); data != nullptr && data->fin) {
        answer_at = pair->now - pair->started;
        ++answers;
      }
    };
    pair = std::make_unique<DatagramPair>(std::move(made), server, plan.path, start);
    ask();  // as 0-RTT, if that is possible
  }

  void ask() {
    if (asked) return;
    const auto stream = client->connection->open_bidirectional();
    if (!stream) return;
    client->connection->write(*stream, as_bytes("ping"), true);
    asked = true;
  }

  bool run(Duration limit = 60s) {
    return pair->run([this] { return answers > 0 || client->find<Closed>() != nullptr; }, limit) &&
           answers > 0;
  }

  tls::ServerContext server_tls;
  tls::ClientContext client_tls;
  std::shared_ptr<RawQuicServer> server;
  RawQuicClient* client = nullptr;
  std::unique_ptr<DatagramPair> pair;
  bool asked = false;
  int answers = 0;
  Duration handshake_at{}, answer_at{};
};

Exchange::Plan plan_with_groups(const char* groups, std::size_t chain_bytes = 3900) {
  Exchange::Plan plan;
  plan.client_tls = test::client_tls_options(chain_bytes);
  plan.client_tls.groups = groups;
  plan.server_tls = test::server_tls_options("doq", chain_bytes);
  return plan;
}

TEST(QuicHandshake, TakesOneRoundTripAndTheAnswerTwo) {
  Exchange exchange({});
  ASSERT_TRUE(exchange.run()) << exchange.pair->link.transcript();
  EXPECT_EQ(exchange.handshake_at, 40ms) << exchange.pair->link.transcript();
  EXPECT_EQ(exchange.answer_at, 80ms) << exchange.pair->link.transcript();
  EXPECT_EQ(exchange.client->find<HandshakeCompleted>()->info.group, "X25519MLKEM768");
  EXPECT_EQ(exchange.client->connection->counters().packets_lost, 0u);
}

TEST(QuicHandshake, ClassicalClientHelloStallsAtTheAmplificationLimit) {
  // One datagram of 1232 bytes allows 3696 in return; a chain of 3900 bytes does not fit: one round trip
  // more.
  Exchange exchange(plan_with_groups("X25519"));
  ASSERT_TRUE(exchange.run());
  EXPECT_EQ(exchange.handshake_at, 80ms) << exchange.pair->link.transcript();
  EXPECT_EQ(exchange.answer_at, 120ms) << exchange.pair->link.transcript();
}

TEST(QuicHandshake, ClassicalClientHelloWithASmallChainDoesNotStall) {
  Exchange exchange(plan_with_groups("X25519", 1200));
  ASSERT_TRUE(exchange.run());
  EXPECT_EQ(exchange.answer_at, 80ms) << exchange.pair->link.transcript();
}

TEST(QuicHandshake, HybridClientHelloNeedsTwoDatagramsAndDoesNotStall) {
  Exchange exchange(plan_with_groups("X25519MLKEM768"));
  ASSERT_TRUE(exchange.run());
  EXPECT_EQ(exchange.answer_at, 80ms) << exchange.pair->link.transcript();
  const auto& log = exchange.pair->link.log();
  ASSERT_GE(log.size(), 3u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(log[i].direction, Direction::ToServer);
    EXPECT_EQ(log[i].bytes, 1232u);
    EXPECT_EQ(log[i].at, kStart);
  }
  EXPECT_EQ(log[2].direction, Direction::ToClient);
}

TEST(QuicHandshake, InitialDatagramsHaveTheConfiguredSize) {
  for (const std::size_t size : {1200u, 1232u, 1350u, 1472u}) {
    Exchange::Plan plan = plan_with_groups("X25519");
    plan.client.datagram_bytes = size;
    Exchange exchange(plan);
    ASSERT_TRUE(exchange.run());
    EXPECT_EQ(exchange.pair->link.log().front().bytes, size);
  }
}

TEST(QuicHandshake, HelloRetryRequestCostsOneRoundTrip) {
  Exchange::Plan plan = plan_with_groups("*X25519:secp256r1", 1200);
  plan.server_tls.groups = "secp256r1";
  Exchange exchange(plan);
  ASSERT_TRUE(exchange.run());
  EXPECT_TRUE(exchange.client->find<HandshakeCompleted>()->info.hello_retry_request);
  EXPECT_EQ(exchange.answer_at, 120ms) << exchange.pair->link.transcript();
}

TEST(QuicHandshake, RetryAddsExactlyOneRoundTrip) {
  Exchange::Plan plan;
  plan.server.retry = RetryPolicy::Always;
  Exchange exchange(plan);
  ASSERT_TRUE(exchange.run());
  EXPECT_EQ(exchange.answer_at, 120ms) << exchange.pair->link.transcript();
  EXPECT_NE(exchange.client->find<RetryReceived>(), nullptr);
  EXPECT_EQ(exchange.server->endpoint.connections(), 1u);
}

TEST(QuicHandshake, RetryProvesTheAddressSoNothingStalls) {
  Exchange::Plan plan = plan_with_groups("X25519");
  plan.server.retry = RetryPolicy::Always;
  Exchange exchange(plan);
  ASSERT_TRUE(exchange.run());
  EXPECT_EQ(exchange.answer_at, 120ms) << exchange.pair->link.transcript();
}

TEST(QuicHandshake, TokenOfAnEarlierConnectionAvoidsRetry) {
  Exchange::Plan plan;
  plan.server.retry = RetryPolicy::Always;
  Exchange first(plan);
  ASSERT_TRUE(first.run());
  ASSERT_TRUE(first.pair->run([&] { return first.client->find<TokenReceived>() != nullptr; }));
  Exchange second(plan, first.server, nullptr, first.client->find<TokenReceived>()->token, first.pair->now);
  ASSERT_TRUE(second.run());
  EXPECT_EQ(second.answer_at, 80ms) << second.pair->link.transcript();
  EXPECT_EQ(second.client->find<RetryReceived>(), nullptr);
}

TEST(QuicHandshake, Version2IsSpokenByBothEnds) {
  Exchange::Plan plan;
  plan.client.version = 2;
  Exchange exchange(plan);
  ASSERT_TRUE(exchange.run());
  EXPECT_EQ(exchange.answer_at, 80ms);
  const Bytes& first = exchange.pair->link.log().front().payload;
  EXPECT_EQ(Bytes(first.begin() + 1, first.begin() + 5), (Bytes{0x6b, 0x33, 0x43, 0xcf}));
}

TEST(QuicHandshake, ServerThatSpeaksAnotherVersionIsAVersionMismatch) {
  Exchange exchange({});
  exchange.pair->flush();
  const Bytes& initial = exchange.pair->link.log().front().payload;
  const std::size_t dcid = initial[5], scid = initial[6 + dcid];
  Bytes negotiation = {0xc0, 0, 0, 0, 0, static_cast<std::uint8_t>(scid)};
  negotiation.insert(negotiation.end(), initial.begin() + 7 + dcid, initial.begin() + 7 + dcid + scid);
  negotiation.push_back(static_cast<std::uint8_t>(dcid));
  negotiation.insert(negotiation.end(), initial.begin() + 6, initial.begin() + 6 + dcid);
  const Bytes versions = {0xff, 0, 0, 0x1d};
  negotiation.insert(negotiation.end(), versions.begin(), versions.end());
  exchange.client->receive(negotiation, exchange.pair->now);
  ASSERT_NE(exchange.client->find<Closed>(), nullptr);
  EXPECT_EQ(exchange.client->find<Closed>()->kind, CloseKind::VersionMismatch);
  EXPECT_TRUE(exchange.client->connection->is_closed());
  EXPECT_FALSE(exchange.client->connection->poll_datagram(exchange.pair->now));
}

TEST(QuicLoss, LostInitialIsRepairedAfterOneProbeTimeout) {
  // PTO before any sample: initial_rtt + 4 * initial_rtt / 2 = 999 ms (RFC 9002 §6.2.2).
  Exchange exchange(plan_with_groups("X25519", 1200));
  exchange.pair->link.drop = [](Direction d, std::size_t index, BytesView) {
    return d == Direction::ToServer && index == 0;
  };
  ASSERT_TRUE(exchange.run());
  EXPECT_GE(exchange.answer_at, 999ms + 80ms);
  EXPECT_LE(exchange.answer_at, 1000ms + 80ms) << exchange.pair->link.transcript();
}

Duration answer_without_client_datagram(std::size_t lost, bool& retried) {
  Exchange exchange(plan_with_groups("X25519MLKEM768"));
  exchange.pair->link.drop = [lost](Direction d, std::size_t index, BytesView) {
    return d == Direction::ToServer && index == lost;
  };
  EXPECT_TRUE(exchange.run()) << exchange.pair->link.transcript();
  retried = exchange.client->find<RetryReceived>() != nullptr;
  return exchange.answer_at;
}

TEST(QuicLoss, WithoutTheFirstHalfOfAHybridClientHelloTheServerRetries) {
  // The second half alone may not be kept for an address that is not proven; Retry costs one round trip,
  // which is far less than the client's probe timeout.
  bool retried = false;
  EXPECT_EQ(answer_without_client_datagram(0, retried), 120ms);
  EXPECT_TRUE(retried);
}

TEST(QuicLoss, WithoutTheSecondHalfOfAHybridClientHelloTheProbeComesAfterAKnownRoundTrip) {
  // The acknowledgement of the first half gives an RTT sample of 40 ms, so the probe leaves 120 ms after the
  // loss (smoothed RTT + 4 * rttvar, RFC 9002 §6.2.1) instead of a second.
  bool retried = true;
  EXPECT_EQ(answer_without_client_datagram(1, retried), 120ms + 80ms);
  EXPECT_FALSE(retried);
}

TEST(QuicLoss, InitialRttSetsTheFirstProbeTimeout) {
  Exchange::Plan plan = plan_with_groups("X25519", 1200);
  plan.client.initial_rtt = 50ms;
  Exchange exchange(plan);
  exchange.pair->link.drop = [](Direction d, std::size_t index, BytesView) {
    return d == Direction::ToServer && index == 0;
  };
  ASSERT_TRUE(exchange.run());
  EXPECT_GE(exchange.answer_at, 150ms + 80ms);
  EXPECT_LE(exchange.answer_at, 151ms + 80ms) << exchange.pair->link.transcript();
}

/// Bytes that the server may have sent before it knows the address: three times what came. Returns the
/// number of datagrams for which the limit was checked.
std::size_t check_amplification_limit(const test::VirtualLink& link, Duration one_way) {
  std::size_t checked = 0;
  for (std::size_t i = 0; i < link.log().size(); ++i) {
    const auto& out = link.log()[i];
    if (out.direction != Direction::ToClient) continue;
    std::size_t received = 0, sent = 0;
    bool validated = false;
    for (const auto& other : link.log()) {
      if (other.direction == Direction::ToServer && !other.dropped && other.at + one_way <= out.at) {
        received += other.bytes;
        // A Handshake packet (or a short one) proves the address: the client has read what was sent there.
        ByteReader reader(other.payload);
        while (!reader.at_end() && reader.ok()) {
          const std::uint8_t first = reader.u8();
          if ((first & 0x80) == 0) {
            validated = true;
            break;
          }
          reader.skip(4);
          reader.skip(reader.u8());
          reader.skip(reader.u8());
          const int type = (first & 0x30) >> 4;
          if (type == 0) reader.skip(static_cast<std::size_t>(reader.varint()));
          if (type == 2) validated = true;
          reader.skip(static_cast<std::size_t>(reader.varint()));
        }
      }
    }
    for (std::size_t j = 0; j <= i; ++j) {
      sent += link.log()[j].direction == Direction::ToClient ? link.log()[j].bytes : 0;
    }
    if (validated) continue;
    ++checked;
    EXPECT_LE(sent, 3 * received) << "datagram " << i << "\n" << link.transcript();
  }
  return checked;
}

TEST(QuicLoss, HandshakeCompletesAtThirtyPercentLossAndKeepsTheAmplificationLimit) {
  std::size_t checked = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Exchange::Plan plan = plan_with_groups(seed % 2 == 0 ? "X25519" : tls::kDefaultGroups);
    plan.client.handshake_timeout = plan.server.connection.handshake_timeout = 600s;
    plan.client.max_idle_timeout = plan.server.connection.max_idle_timeout = 600s;
    plan.path.loss_probability = 0.3;
    plan.path.seed = seed;
    Exchange exchange(plan);
    ASSERT_TRUE(exchange.run(600s)) << exchange.pair->link.transcript();
    ASSERT_EQ(exchange.client->received(0), to_bytes(as_bytes("ping")));
    checked += check_amplification_limit(exchange.pair->link, 20ms);
    if (HasFailure()) break;
  }
  EXPECT_GT(checked, 300u);
}

TEST(QuicLoss, CorruptionReorderingAndDuplicationDoNotMatter) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Exchange::Plan plan;
    plan.client.handshake_timeout = plan.server.connection.handshake_timeout = 600s;
    plan.client.max_idle_timeout = plan.server.connection.max_idle_timeout = 600s;
    plan.path.seed = seed;
    plan.path.corrupt_probability = 0.3;
    plan.path.duplicate_probability = 0.2;
    plan.path.reorder_probability = 0.2;
    Exchange exchange(plan);
    ASSERT_TRUE(exchange.run(600s)) << exchange.pair->link.transcript();
    ASSERT_EQ(exchange.client->received(0), to_bytes(as_bytes("ping")));
    ASSERT_EQ(exchange.answers, 1);
  }
}

TEST(QuicResumption, TicketResumesAndEarlyDataIsAccepted) {
  Exchange first({});
  ASSERT_TRUE(first.run());
  ASSERT_TRUE(first.pair->run([&] { return first.client->find<TicketReceived>() != nullptr; }));
  const auto* ticket = first.client->find<TicketReceived>();
  EXPECT_FALSE(ticket->transport_parameters.empty());
  Exchange second({}, first.server, ticket, {}, first.pair->now);
  EXPECT_TRUE(second.asked) << "0-RTT streams can be opened at once";
  ASSERT_TRUE(second.run());
  EXPECT_EQ(second.answer_at, 40ms) << second.pair->link.transcript();
  const auto& info = second.client->find<HandshakeCompleted>()->info;
  EXPECT_TRUE(info.resumed);
  EXPECT_EQ(info.early_data, tls::EarlyData::Accepted);
}

TEST(QuicResumption, WithoutEarlyDataATicketOnlyResumes) {
  Exchange::Plan plan;
  plan.client_tls.early_data = false;
  Exchange first(plan);
  ASSERT_TRUE(first.run());
  ASSERT_TRUE(first.pair->run([&] { return first.client->find<TicketReceived>() != nullptr; }));
  Exchange second(plan, first.server, first.client->find<TicketReceived>(), {}, first.pair->now);
  EXPECT_FALSE(second.asked);
  ASSERT_TRUE(second.run());
  EXPECT_EQ(second.answer_at, 80ms);
  EXPECT_TRUE(second.client->find<HandshakeCompleted>()->info.resumed);
}

TEST(QuicResumption, RejectedEarlyDataIsSentAgainOnceUnderLoss) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Exchange first({});
    ASSERT_TRUE(first.run());
    ASSERT_TRUE(first.pair->run([&] { return first.client->find<TicketReceived>() != nullptr; }));
    Exchange::Plan plan;
    plan.path.seed = seed;
    plan.path.loss_probability = 0.2;
    plan.client.handshake_timeout = plan.server.connection.handshake_timeout = 600s;
    Exchange second(plan, nullptr, first.client->find<TicketReceived>());  // a new server knows no tickets
    EXPECT_TRUE(second.asked);
    ASSERT_TRUE(second.run(600s)) << second.pair->link.transcript();
    EXPECT_EQ(second.client->find<HandshakeCompleted>()->info.early_data, tls::EarlyData::Rejected);
    EXPECT_EQ(second.client->received(0), to_bytes(as_bytes("ping")));
    second.pair->run_for(2s);
    EXPECT_EQ(second.answers, 1);
  }
}

TEST(QuicResumption, EarlyDataSurvivesRetry) {
  Exchange::Plan plan;
  plan.server.retry = RetryPolicy::Always;
  Exchange first(plan);
  ASSERT_TRUE(first.run());
  ASSERT_TRUE(first.pair->run([&] { return first.client->find<TicketReceived>() != nullptr; }));
  Exchange second(plan, first.server, first.client->find<TicketReceived>(), {}, first.pair->now);
  ASSERT_TRUE(second.run());
  EXPECT_EQ(second.answer_at, 80ms) << second.pair->link.transcript();
  EXPECT_EQ(second.answers, 1);
}

TEST(QuicResumption, DamagedMemoryOfTheServerIsHarmless) {
  Exchange first({});
  ASSERT_TRUE(first.run());
  ASSERT_TRUE(first.pair->run([&] { return first.client->find<TicketReceived>() != nullptr; }));
  TicketReceived ticket = *first.client->find<TicketReceived>();
  ticket.transport_parameters.pop_back();
  Exchange second({}, first.server, &ticket, {}, first.pair->now);
  EXPECT_TRUE(second.run());
}

}  // namespace
}  // namespace doxlab::quic
