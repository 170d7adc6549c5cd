#include "tls/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "unit/tls/loopback.hpp"

namespace doxlab::tls {
namespace {

using namespace doxlab::tls::testing;

struct Contexts {
  explicit Contexts(std::uint32_t server_early_data = 0, bool client_early_data = true, bool single_use = false)
      : client(with_early(client_early_data)), server(with_max(server_early_data, single_use)) {}

  static ClientOptions with_early(bool early) {
    ClientOptions options = client_options();
    options.early_data = early;
    return options;
  }
  static ServerOptions with_max(std::uint32_t bytes, bool single_use) {
    ServerOptions options = server_options();
    options.max_early_data_bytes = bytes;
    options.single_use_tickets = single_use;
    return options;
  }

  Ticket ticket() {
    Loopback loop(client, server);
    loop.handshake();
    auto taken = loop.client.take_ticket();
    EXPECT_TRUE(taken);
    return taken.value_or(Ticket{});
  }

  ClientContext client;
  ServerContext server;
};

TEST(Session, CarriesPlaintextBothWays) {
  Contexts contexts;
  Loopback loop(contexts.client, contexts.server);
  ASSERT_TRUE(loop.client.write(as_bytes("before start, ")));
  loop.handshake();
  ASSERT_TRUE(loop.client.write(as_bytes("after")));
  ASSERT_TRUE(loop.server.write(as_bytes("answer")));
  loop.run();
  EXPECT_EQ(loop.from_client, "before start, after");
  EXPECT_EQ(loop.from_server, "answer");
}

TEST(Session, EachWriteHasItsOwnRecordAlsoIfItHadToWait) {
  Contexts contexts;
  Loopback loop(contexts.client, contexts.server);
  ASSERT_TRUE(loop.client.write(as_bytes("one")));
  ASSERT_TRUE(loop.client.write(as_bytes("two")));
  loop.start();
  ASSERT_TRUE(loop.server.receive(loop.client.take_output()));
  ASSERT_TRUE(loop.client.receive(loop.server.take_output()));
  const Bytes flight = loop.client.take_output();
  // The two records end the flight: header, text, content type, tag.
  constexpr std::size_t kRecord = 5 + 3 + 1 + 16;
  ASSERT_GT(flight.size(), 2 * kRecord);
  for (const std::size_t from_end : {2 * kRecord, kRecord}) {
    EXPECT_EQ(to_hex(BytesView(flight).last(from_end).first(5)), "1703030014");
  }
  ASSERT_TRUE(loop.server.receive(flight));
  EXPECT_EQ(as_text(loop.server.take_plaintext()), "onetwo");
}

TEST(Session, CarriesMoreThanOneRecord) {
  Contexts contexts;
  Loopback loop(contexts.client, contexts.server);
  loop.handshake();
  const std::string large(100'000, 'x');
  ASSERT_TRUE(loop.server.write(as_bytes(large)));
  loop.run();
  EXPECT_EQ(loop.from_server, large);
}

TEST(Session, TakesRecordsOctetByOctet) {
  Contexts contexts;
  Loopback loop(contexts.client, contexts.server);
  loop.start();
  ASSERT_TRUE(loop.client.write(as_bytes("query")));
  for (int round = 0; round < 10; ++round) {
    for (const std::uint8_t octet : loop.client.take_output()) ASSERT_TRUE(loop.server.receive({&octet, 1}));
    for (const std::uint8_t octet : loop.server.take_output()) ASSERT_TRUE(loop.client.receive({&octet, 1}));
  }
  EXPECT_EQ(as_text(loop.server.take_plaintext()), "query");
}

TEST(Session, CloseNotifyReachesThePeerAndEndsWriting) {
  Contexts contexts;
  Loopback loop(contexts.client, contexts.server);
  loop.handshake();
  EXPECT_FALSE(loop.server.peer_closed());
  ASSERT_TRUE(loop.client.write(as_bytes("last words")));
  loop.client.close();
  loop.run();
  EXPECT_EQ(loop.from_client, "last words");
  EXPECT_TRUE(loop.server.peer_closed());
  EXPECT_FALSE(loop.client.write(as_bytes("more")));
  // The other direction stays open (RFC 8446 §6.1).
  ASSERT_TRUE(loop.server.write(as_bytes("answer")));
  loop.run();
  EXPECT_EQ(loop.from_server, "answer");
}

TEST(Session, NothingCountsAfterCloseNotify) {
  Contexts contexts;
  Loopback loop(contexts.client, contexts.server);
  loop.handshake();
  loop.client.close();
  loop.run();
  EXPECT_TRUE(loop.server.receive(as_bytes("garbage")));
  EXPECT_TRUE(loop.server.take_plaintext().empty());
}

TEST(Session, CloseBeforeTheHandshakeSaysNothing) {
  Contexts contexts;
  Loopback loop(contexts.client, contexts.server);
  loop.client.close();
  EXPECT_TRUE(loop.client.take_output().empty());
}

TEST(Session, TruncatedRecordsWaitForTheRest) {
  Contexts contexts;
  Loopback loop(contexts.client, contexts.server);
  loop.handshake();
  ASSERT_TRUE(loop.client.write(as_bytes("query")));
  const Bytes record = loop.client.take_output();
  ASSERT_TRUE(loop.server.receive(BytesView(record).first(record.size() - 1)));
  EXPECT_TRUE(loop.server.take_plaintext().empty());
  ASSERT_TRUE(loop.server.receive(BytesView(record).last(1)));
  EXPECT_EQ(as_text(loop.server.take_plaintext()), "query");
}

TEST(Session, ChangedRecordIsFatalAndAnsweredByAnAlert) {
  Contexts contexts;
  Loopback loop(contexts.client, contexts.server);
  loop.handshake();
  ASSERT_TRUE(loop.client.write(as_bytes("query")));
  Bytes record = loop.client.take_output();
  record.back() ^= 1;
  const auto result = loop.server.receive(record);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, ::testing::HasSubstr("bad_record_mac"));
  EXPECT_FALSE(loop.server.take_output().empty());
  EXPECT_FALSE(loop.server.write(as_bytes("more")));
  EXPECT_FALSE(loop.server.receive(record));
}

TEST(Session, GarbageIsRefusedInEveryState) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> octet(0, 255), length(1, 600);
  Contexts contexts(16384);
  for (int i = 0; i < 300; ++i) {
    Bytes garbage(static_cast<std::size_t>(length(random)));
    for (auto& value : garbage) value = static_cast<std::uint8_t>(octet(random));
    Loopback loop(contexts.client, contexts.server);
    loop.start();
    for (int steps = 0; steps < i % 4; ++steps) loop.step();
    // What looks like the beginning of a record is waited for, up to the longest that a header can announce.
    const std::size_t rounds = 2 * 65536 / garbage.size() + 2;
    for (std::size_t round = 0; round < rounds && loop.server.receive(garbage); ++round) {
    }
    for (std::size_t round = 0; round < rounds && loop.client.receive(garbage); ++round) {
    }
    EXPECT_FALSE(loop.server.receive(garbage));
    EXPECT_FALSE(loop.client.receive(garbage));
  }
}

TEST(Session, DamagedHandshakeNeverCompletesOnBothSides) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Contexts contexts;
  for (int i = 0; i < 200; ++i) {
    Loopback loop(contexts.client, contexts.server);
    loop.start();
    Bytes hello = loop.client.take_output();
    // The record header's version says nothing in TLS 1.3 (RFC 8446 §5.1), so it is left alone.
    hello[3 + random() % (hello.size() - 3)] ^= static_cast<std::uint8_t>(1 + random() % 255);
    loop.server_result = loop.server.receive(hello);
    loop.run();
    EXPECT_FALSE(loop.client.handshake_done() && loop.server.handshake_done());
  }
}

TEST(Resumption, TicketSavesTheCertificate) {
  Contexts contexts;
  const Ticket ticket = contexts.ticket();
  for (int i = 0; i < 3; ++i) {  // stateless tickets may be used again
    Loopback loop(contexts.client, contexts.server, &ticket);
    loop.handshake();
    EXPECT_TRUE(loop.client.info().resumed);
    EXPECT_EQ(loop.client.info().peer_certificate_bytes, 0u);
    EXPECT_EQ(loop.client.info().group, "X25519MLKEM768");
    EXPECT_LT(loop.bytes_to_client, 2000u);
  }
}

TEST(Resumption, NoTicketsWhereTheServerGivesNone) {
  ServerOptions options = server_options();
  options.tickets = 0;
  const ClientContext client(client_options());
  const ServerContext server(options);
  Loopback loop(client, server);
  loop.handshake();
  EXPECT_FALSE(loop.client.take_ticket());
}

TEST(Resumption, TicketsOfAnotherServerCostAFullHandshake) {
  Contexts here, elsewhere;
  const Ticket ticket = elsewhere.ticket();
  Loopback loop(here.client, here.server, &ticket);
  loop.handshake();
  EXPECT_FALSE(loop.client.info().resumed);
}

TEST(Resumption, DamagedTicketsCostAFullHandshake) {
  Contexts contexts;
  Ticket ticket = contexts.ticket();
  ticket.session_der.resize(ticket.session_der.size() / 2);
  Loopback loop(contexts.client, contexts.server, &ticket);
  loop.handshake();
  EXPECT_FALSE(loop.client.info().resumed);
}

TEST(Resumption, TicketsOpenOnlyNamesOfTheirCertificate) {
  Contexts contexts(16384);
  const Ticket ticket = contexts.ticket();
  Loopback covered(contexts.client, contexts.server, &ticket, "192.0.2.1");
  covered.handshake();
  EXPECT_TRUE(covered.client.info().resumed);
  for (const char* name : {"192.0.2.9", "other.doxlab.test"}) {
    Loopback other(contexts.client, contexts.server, &ticket, name);
    ASSERT_TRUE(other.client.write(as_bytes("secret")));
    other.start();
    other.run();
    ASSERT_FALSE(other.client_result);
    EXPECT_THAT(other.client_result.error().message, ::testing::HasSubstr("mismatch"));
    EXPECT_EQ(other.from_client, "");
  }
}

TEST(Resumption, TicketOfAnotherProtocolCarriesNoEarlyData) {
  ServerOptions options = server_options();
  options.alpn = {"dot", "h2"};
  options.max_early_data_bytes = 16384;
  const ServerContext server(options);
  Contexts contexts;
  Loopback first(contexts.client, server);
  first.handshake();
  const auto ticket = first.client.take_ticket();
  ASSERT_TRUE(ticket);
  Loopback loop(contexts.client, server, &*ticket, kName, "h2");
  ASSERT_TRUE(loop.client.write(as_bytes("query")));
  loop.handshake();
  EXPECT_EQ(loop.client.info().early_data, EarlyData::NotOffered);
  EXPECT_EQ(loop.client.info().alpn, "h2");
  EXPECT_EQ(loop.from_client, "query");
}

TEST(Resumption, TicketsOfAnUnverifiedSessionDoNotOpenAVerifiedOne) {
  ClientOptions lax = client_options(shared_chain(1501));
  lax.verify = false;
  const ClientContext unverified(lax);
  lax.verify = true;
  const ClientContext verified(lax);
  const ServerContext server(server_options());
  Loopback first(unverified, server);
  first.handshake();
  const auto ticket = first.client.take_ticket();
  ASSERT_TRUE(ticket);
  Loopback again(unverified, server, &*ticket);
  again.handshake();
  EXPECT_TRUE(again.client.info().resumed);
  Loopback strict(verified, server, &*ticket);
  strict.start();
  strict.run();
  EXPECT_FALSE(strict.client_result);
}

TEST(Resumption, SingleUseTicketsWorkOnce) {
  Contexts contexts(16384, true, true);
  const Ticket ticket = contexts.ticket();
  Loopback first(contexts.client, contexts.server, &ticket);
  first.handshake();
  EXPECT_TRUE(first.client.info().resumed);
  Loopback second(contexts.client, contexts.server, &ticket);
  ASSERT_TRUE(second.client.write(as_bytes("query")));
  second.handshake();
  EXPECT_FALSE(second.client.info().resumed);
  EXPECT_EQ(second.client.info().early_data, EarlyData::Rejected);
  EXPECT_EQ(second.from_client, "query");
}

TEST(EarlyDataTest, IsDeliveredInTheFirstFlightAndAnsweredBeforeTheClientsSecond) {
  Contexts contexts(16384);
  const Ticket ticket = contexts.ticket();
  EXPECT_EQ(ticket.max_early_data_bytes, 16384u);
  Loopback loop(contexts.client, contexts.server, &ticket);
  ASSERT_TRUE(loop.client.write(as_bytes("query ")));
  loop.start();
  ASSERT_TRUE(loop.client.write(as_bytes("again")));
  ASSERT_TRUE(loop.server.receive(loop.client.take_output()));
  EXPECT_EQ(as_text(loop.server.take_plaintext()), "query again");
  EXPECT_TRUE(loop.server.plaintext_was_early());
  EXPECT_FALSE(loop.server.handshake_done());

  ASSERT_TRUE(loop.server.write(as_bytes("answer")));
  ASSERT_TRUE(loop.client.receive(loop.server.take_output()));
  EXPECT_EQ(as_text(loop.client.take_plaintext()), "answer");
  loop.run();
  EXPECT_TRUE(loop.server.handshake_done());
  EXPECT_EQ(loop.client.info().early_data, EarlyData::Accepted);
  EXPECT_EQ(loop.server.info().early_data, EarlyData::Accepted);
  EXPECT_EQ(loop.from_client, "");

  ASSERT_TRUE(loop.client.write(as_bytes("late")));
  loop.run();
  EXPECT_EQ(loop.from_client, "late");
  EXPECT_FALSE(loop.server.plaintext_was_early());
}

TEST(EarlyDataTest, RejectedByAServerThatDoesNotTakeItIsSentAgainOnce) {
  Contexts giving(16384);
  Contexts refusing(0);
  const Ticket ticket = giving.ticket();
  Loopback loop(giving.client, refusing.server, &ticket);
  ASSERT_TRUE(loop.client.write(as_bytes("query")));
  loop.handshake();
  EXPECT_EQ(loop.client.info().early_data, EarlyData::Rejected);
  EXPECT_EQ(loop.from_client, "query");
  EXPECT_FALSE(loop.server.plaintext_was_early());
}

TEST(EarlyDataTest, RejectedByAHelloRetryRequestIsSentAgainOnce) {
  ClientOptions options = client_options();
  options.early_data = true;
  options.groups = "*x25519:secp256r1";
  const ClientContext client(options);
  ServerOptions server_side = server_options();
  server_side.max_early_data_bytes = 16384;
  server_side.groups = "secp256r1";
  const ServerContext server(server_side);
  Loopback first(client, server);
  first.handshake();
  const auto ticket = first.client.take_ticket();
  ASSERT_TRUE(ticket);
  Loopback loop(client, server, &*ticket);
  ASSERT_TRUE(loop.client.write(as_bytes("query")));
  loop.start();
  ASSERT_TRUE(loop.client.write(as_bytes(" and more")));
  loop.run();
  ASSERT_TRUE(loop.client.handshake_done());
  EXPECT_TRUE(loop.client.info().hello_retry_request);
  EXPECT_EQ(loop.client.info().early_data, EarlyData::Rejected);
  EXPECT_EQ(loop.from_client, "query and more");
}

TEST(EarlyDataTest, IsNotSentUnlessTheOptionAsksForIt) {
  Contexts contexts(16384, false);
  const Ticket ticket = contexts.ticket();
  Loopback loop(contexts.client, contexts.server, &ticket);
  ASSERT_TRUE(loop.client.write(as_bytes("query")));
  loop.handshake();
  EXPECT_TRUE(loop.client.info().resumed);
  EXPECT_EQ(loop.client.info().early_data, EarlyData::NotOffered);
  EXPECT_EQ(loop.from_client, "query");
}

TEST(EarlyDataTest, WhatDoesNotFitWaits) {
  Contexts contexts(1000);
  const Ticket ticket = contexts.ticket();
  const std::string large(600, 'a');
  Loopback loop(contexts.client, contexts.server, &ticket);
  loop.start();
  ASSERT_TRUE(loop.client.write(as_bytes(large)));
  ASSERT_TRUE(loop.client.write(as_bytes(large)));
  ASSERT_TRUE(loop.client.write(as_bytes("end")));
  ASSERT_TRUE(loop.server.receive(loop.client.take_output()));
  EXPECT_EQ(loop.server.take_plaintext().size(), 600u);
  loop.run();
  EXPECT_EQ(loop.from_client, large + "end");
  EXPECT_EQ(loop.client.info().early_data, EarlyData::Accepted);

  Loopback at_once(contexts.client, contexts.server, &ticket);
  ASSERT_TRUE(at_once.client.write(as_bytes(large + large)));
  at_once.handshake();
  EXPECT_EQ(at_once.from_client, large + large);
  EXPECT_EQ(at_once.client.info().early_data, EarlyData::NotOffered);
}

TEST(EarlyDataTest, OfSeveralWritesThoseThatFitGoAndTheOthersFollowInOrder) {
  Contexts contexts(1000);
  const Ticket ticket = contexts.ticket();
  Loopback loop(contexts.client, contexts.server, &ticket);
  const std::string a(600, 'a'), b(600, 'b'), c(10, 'c');
  for (const std::string& text : {a, b, c}) ASSERT_TRUE(loop.client.write(as_bytes(text)));
  loop.start();
  ASSERT_TRUE(loop.server.receive(loop.client.take_output()));
  EXPECT_EQ(as_text(loop.server.take_plaintext()), a);
  loop.run();
  EXPECT_EQ(loop.from_client, b + c);
}

TEST(EarlyDataTest, NothingWrittenStillCompletes) {
  Contexts contexts(1000);
  const Ticket ticket = contexts.ticket();
  Loopback loop(contexts.client, contexts.server, &ticket);
  loop.handshake();
  EXPECT_EQ(loop.client.info().early_data, EarlyData::Accepted);
}

}  // namespace
}  // namespace doxlab::tls
