// The endpoint's answers to datagrams that belong to no connection.
#include "quic/endpoint.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "quic/address_tokens.hpp"
#include "support/tls_contexts.hpp"

namespace doxlab::quic {
namespace {

const SocketAddress kServer{IpAddress::v4({192, 0, 2, 53}), 853};
const SocketAddress kClient{IpAddress::v4({192, 0, 2, 1}), 40000};
constexpr Timestamp kNow{1h};

struct Ends {
  tls::ServerContext server_tls{test::server_tls_options("doq")};
  tls::ClientContext client_tls{test::client_tls_options()};

  std::unique_ptr<Connection> client(BytesView token = {}, const Options& options = {}) const {
    ClientParameters parameters;
    parameters.server_name = test::kServerName;
    parameters.alpn = "doq";
    parameters.local = kClient;
    parameters.remote = kServer;
    parameters.token = token;
    return Connection::connect(client_tls, options, parameters, kNow).value();
  }
  Bytes initial(BytesView token = {}) const { return *client(token)->poll_datagram(kNow); }
};

bool is_retry(const Bytes& packet) {
  return (packet[0] & 0xf0) == 0xf0;
}

Bytes long_packet(std::uint32_t version, std::size_t size, std::size_t dcid_length = 8) {
  Bytes packet(size);
  packet[0] = 0xc0;
  for (int i = 0; i < 4; ++i)
    packet[static_cast<std::size_t>(1 + i)] = static_cast<std::uint8_t>(version >> (24 - 8 * i));
  packet[5] = static_cast<std::uint8_t>(dcid_length);
  packet[6 + dcid_length] = 8;
  return packet;
}

TEST(Endpoint, UnknownVersionIsAnsweredWithVersionNegotiation) {
  Ends ends;
  Endpoint endpoint(ends.server_tls, {});
  endpoint.receive(kServer, kClient, long_packet(0xff00001d, 1200), kNow);
  const auto answer = endpoint.poll_datagram(kNow);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->peer, kClient);
  ByteReader reader(answer->payload);
  EXPECT_NE(reader.u8() & 0x80, 0);
  EXPECT_EQ(reader.u32(), 0u);
  reader.skip(reader.u8());
  reader.skip(reader.u8());
  std::set<std::uint32_t> versions;
  while (!reader.at_end()) versions.insert(reader.u32());
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(versions.contains(1));
  EXPECT_TRUE(versions.contains(0x6b3343cf));
  EXPECT_EQ(versions.size(), 3u);
  EXPECT_EQ(*versions.rbegin() == 0x6b3343cf ? *std::next(versions.begin()) & 0x0f0f0f0f
                                             : *versions.rbegin() & 0x0f0f0f0f,
            0x0a0a0a0au);
  EXPECT_FALSE(endpoint.poll_datagram(kNow));
  EXPECT_EQ(endpoint.connections(), 0u);
}

TEST(Endpoint, SmallDatagramsAndVersionNegotiationGetNoAnswer) {
  Ends ends;
  Endpoint endpoint(ends.server_tls, {});
  endpoint.receive(kServer, kClient, long_packet(0xff00001d, 1199), kNow);
  endpoint.receive(kServer, kClient, long_packet(0, 1200), kNow);
  endpoint.receive(kServer, kClient, {}, kNow);
  Bytes initial = ends.initial();
  initial.resize(1199);
  endpoint.receive(kServer, kClient, initial, kNow);
  endpoint.receive(kServer, kClient, long_packet(1, 1200, 7), kNow);  // Destination Connection ID too short
  EXPECT_FALSE(endpoint.poll_datagram(kNow));
  EXPECT_EQ(endpoint.connections(), 0u);
}

TEST(Endpoint, InitialThatDoesNotDecryptLeavesNothingBehind) {
  Ends ends;
  Endpoint endpoint(ends.server_tls, {});
  Bytes initial = ends.initial();
  initial.back() ^= 1;
  endpoint.receive(kServer, kClient, initial, kNow);
  EXPECT_FALSE(endpoint.poll_datagram(kNow));
  EXPECT_EQ(endpoint.connections(), 0u);
  EXPECT_FALSE(endpoint.next_timeout());
}

TEST(Endpoint, StatelessResetIsShorterThanItsTriggerAndRateLimited) {
  Ends ends;
  Endpoint endpoint(ends.server_tls, {});
  for (std::size_t size = 1; size <= 21; ++size) endpoint.receive(kServer, kClient, Bytes(size, 0x40), kNow);
  EXPECT_FALSE(endpoint.poll_datagram(kNow));
  for (const std::size_t size : {22u, 30u, 100u, 1200u}) {
    endpoint.receive(kServer, kClient, Bytes(size, 0x40), kNow);
    const auto reset = endpoint.poll_datagram(kNow);
    ASSERT_TRUE(reset) << size;
    EXPECT_LT(reset->payload.size(), size);
    EXPECT_GE(reset->payload.size(), 21u);
    EXPECT_EQ(reset->payload[0] & 0xc0, 0x40);
  }
  std::size_t resets = 0;
  for (int i = 0; i < 1000; ++i) {
    endpoint.receive(kServer, kClient, Bytes(100, 0x40), kNow);
    resets += endpoint.poll_datagram(kNow) ? 1 : 0;
  }
  EXPECT_LE(resets, 100u);
  endpoint.receive(kServer, kClient, Bytes(100, 0x40), kNow + 1s);
  EXPECT_TRUE(endpoint.poll_datagram(kNow + 1s));
}

TEST(Endpoint, FullEndpointRefusesConnections) {
  Ends ends;
  Endpoint endpoint(ends.server_tls, {.connection = {}, .max_connections = 2});
  for (int i = 0; i < 3; ++i) {
    auto client = ends.client();
    while (auto packet = client->poll_datagram(kNow)) endpoint.receive(kServer, kClient, *packet, kNow);
    const auto answer = endpoint.poll_datagram(kNow);
    ASSERT_TRUE(answer);
    if (i < 2) {
      while (endpoint.poll_datagram(kNow)) {
      }
      continue;
    }
    client->receive(kClient, kServer, answer->payload, kNow);
    const auto event = client->poll_event();
    ASSERT_TRUE(event);
    const auto* closed = std::get_if<Closed>(&*event);
    ASSERT_NE(closed, nullptr);
    EXPECT_EQ(closed->kind, CloseKind::PeerTransport);
    EXPECT_EQ(closed->code, 2u);  // CONNECTION_REFUSED
  }
  EXPECT_EQ(endpoint.connections(), 2u);
}

TEST(Endpoint, ManyHalfOpenHandshakesTurnRetryOn) {
  Ends ends;
  Endpoint endpoint(ends.server_tls, {.connection = {}, .max_half_open = 3});
  for (int i = 0; i < 3; ++i) {
    auto client = ends.client();
    while (auto packet = client->poll_datagram(kNow)) endpoint.receive(kServer, kClient, *packet, kNow);
  }
  while (auto packet = endpoint.poll_datagram(kNow)) EXPECT_FALSE(is_retry(packet->payload));
  endpoint.receive(kServer, kClient, ends.initial(), kNow);
  const auto answer = endpoint.poll_datagram(kNow);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(is_retry(answer->payload));
  EXPECT_EQ(endpoint.connections(), 3u);
  // The half-open ones time out and make room.
  for (int i = 0; i < 200 && endpoint.connections() > 0; ++i) {
    const auto due = endpoint.next_timeout();
    ASSERT_TRUE(due);
    endpoint.on_timeout(*due);
    while (endpoint.poll_datagram(*due)) {
    }
    while (const auto key = endpoint.poll_ready()) {
      while (endpoint.find(*key)->poll_event()) {
      }
    }
  }
  EXPECT_EQ(endpoint.connections(), 0u);
}

TEST(Endpoint, ForgedRetryTokensAreRefusedAndNeverCrash) {
  Ends ends;
  Endpoint endpoint(ends.server_tls, {.connection = {}, .retry = RetryPolicy::Always});
  auto client = ends.client();
  endpoint.receive(kServer, kClient, *client->poll_datagram(kNow), kNow);
  const auto retry = endpoint.poll_datagram(kNow);
  ASSERT_TRUE(retry && is_retry(retry->payload));
  while (client->poll_datagram(kNow)) {
  }
  client->receive(kClient, kServer, retry->payload, kNow);
  const auto with_token = client->poll_datagram(kNow);
  ASSERT_TRUE(with_token);

  // From another address the token proves nothing: INVALID_TOKEN, no connection.
  const SocketAddress stranger{IpAddress::v4({203, 0, 113, 9}), 40000};
  endpoint.receive(kServer, stranger, *with_token, kNow);
  EXPECT_EQ(endpoint.connections(), 0u);
  while (endpoint.poll_datagram(kNow)) {
  }
  // Too old: the same.
  endpoint.receive(kServer, kClient, *with_token, kNow + 11s);
  EXPECT_EQ(endpoint.connections(), 0u);
  while (endpoint.poll_datagram(kNow)) {
  }
  // Any bit of the token changed: a new Retry or nothing.
  for (std::size_t at = 24; at < 24 + 60; ++at) {
    Bytes damaged = *with_token;
    damaged[at] ^= 0x10;
    endpoint.receive(kServer, kClient, damaged, kNow);
    EXPECT_EQ(endpoint.connections(), 0u) << "octet " << at;
    while (endpoint.poll_datagram(kNow)) {
    }
  }
  endpoint.receive(kServer, kClient, *with_token, kNow);
  EXPECT_EQ(endpoint.connections(), 1u);
}

TEST(Endpoint, RandomDatagramsNeverMakeAConnection) {
  Ends ends;
  Endpoint endpoint(ends.server_tls, {});
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    Bytes junk(random() % 1500);
    for (auto& octet : junk) octet = static_cast<std::uint8_t>(random());
    if (junk.size() > 7 && i % 2 == 0) {
      // Looks like an Initial of version 1 with plausible connection IDs.
      const Bytes start = {static_cast<std::uint8_t>(0xc0 | (junk[0] & 0x3f)),
                           0,
                           0,
                           0,
                           1,
                           static_cast<std::uint8_t>(junk[5] % 21)};
      std::copy(start.begin(), start.end(), junk.begin());
    }
    endpoint.receive(kServer, kClient, junk, kNow);
    while (endpoint.poll_datagram(kNow)) {
    }
  }
  EXPECT_EQ(endpoint.connections(), 0u);
}

TEST(AddressTokens, ProveTheAddressTheyWereMadeFor) {
  const internal::AddressTokens tokens;
  const ngtcp2_tstamp now = to_ns(kNow);
  ngtcp2_cid original{8, {1, 2, 3, 4, 5, 6, 7, 8}}, retry{8, {9, 9, 9, 9, 9, 9, 9, 9}}, found{};
  const Bytes token = tokens.make_retry(1, kClient, retry, original, now);
  const SocketAddress other{kClient.ip, 40001};
  EXPECT_EQ(tokens.check(token, 1, kClient, retry, now, found), internal::TokenVerdict::Retry);
  EXPECT_NE(ngtcp2_cid_eq(&found, &original), 0);
  EXPECT_EQ(tokens.check(token, 1, other, retry, now, found), internal::TokenVerdict::Invalid);
  EXPECT_NE(tokens.check(token, 1, kClient, original, now, found), internal::TokenVerdict::Retry);
  EXPECT_EQ(tokens.check(token, 1, kClient, retry, now + 11 * NGTCP2_SECONDS, found),
            internal::TokenVerdict::Invalid);
  EXPECT_EQ(internal::AddressTokens().check(token, 1, kClient, retry, now, found),
            internal::TokenVerdict::Unknown);

  const Bytes regular = tokens.make_regular(kClient, now);
  EXPECT_NE(regular[0], token[0]);
  EXPECT_EQ(tokens.check(regular, 1, other, original, now + 3600 * NGTCP2_SECONDS, found),
            internal::TokenVerdict::Regular)
      << "a NEW_TOKEN token holds for the address with any port";
  EXPECT_EQ(tokens.check(regular, 1, {IpAddress::v4({203, 0, 113, 9}), 40000}, original, now, found),
            internal::TokenVerdict::Unknown);
  EXPECT_EQ(tokens.check(regular, 1, kClient, original, now + 25 * 3600 * NGTCP2_SECONDS, found),
            internal::TokenVerdict::Unknown);
  EXPECT_EQ(tokens.check({}, 1, kClient, original, now, found), internal::TokenVerdict::Unknown);
}

}  // namespace
}  // namespace doxlab::quic
