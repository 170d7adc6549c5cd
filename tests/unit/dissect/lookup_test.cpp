// Whole lookups of our own clients and servers: every octet gets a name, and the names add up.
#include <gmock/gmock.h>

#include "check.hpp"
#include "dns/message.hpp"
#include "lookups.hpp"

namespace doxlab::dissect {
namespace {

using link::Direction;
using namespace test;
using testing::ElementsAre;

std::uint64_t of(const Dissection& dissection, TileKind kind) {
  const auto octets = octets_by_kind(dissection);
  const auto found = octets.find(kind);
  return found == octets.end() ? 0 : found->second;
}

std::uint64_t dns_octets(const Dissection& dissection) {
  std::uint64_t sum = 0;
  for (const auto kind : {TileKind::DnsHeader, TileKind::DnsQuestion, TileKind::DnsRecord, TileKind::DnsOpt,
                          TileKind::DnsPadding})
    sum += of(dissection, kind);
  return sum;
}

class EveryTransport : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Lookup, EveryTransport,
                         testing::Values(Transport::Do53, Transport::Do53Tcp, Transport::Dot, Transport::Doh,
                                         Transport::Doh3, Transport::Doq),
                         [](const auto& transport) {
                           std::string name(to_string(transport.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(EveryTransport, EachOctetHasOneName) {
  const auto lookup = World(Plan(GetParam())).run();
  const auto dissection = lookup.dissect();
  expect_exact(dissection);
  expect_all_read(dissection);
  expect_messages_counted_once(dissection);
  ASSERT_EQ(dissection.dns_messages.size(), 2u);
  EXPECT_EQ(dns_octets(dissection), lookup.query.size() + lookup.answer.size());
  for (const auto& message : dissection.dns_messages) {
    EXPECT_TRUE(message.is_well_formed);
    EXPECT_EQ(message.qname, "example.com.");
    EXPECT_EQ(message.is_response, message.carrier.direction == Direction::ToClient);
  }
  const auto parsed = dns::parse_message(lookup.query);
  EXPECT_EQ(dissection.dns_messages[0].padding_bytes, parsed->has_padding ? parsed->padding_bytes + 4 : 0);
}

TEST_P(EveryTransport, WithoutSecretsWhatIsProtectedIsCiphertext) {
  auto lookup = World(Plan(GetParam())).run();
  lookup.key_log.clear();
  const auto dissection = lookup.dissect();
  expect_exact(dissection);
  const auto ciphertext = of(dissection, TileKind::TlsCiphertext) + of(dissection, TileKind::QuicCiphertext);
  EXPECT_EQ(ciphertext > 4000, is_encrypted(GetParam()));
  EXPECT_EQ(dissection.dns_messages.size(), is_encrypted(GetParam()) ? 0u : 2u);
}

const std::vector<std::string> kServerHandshake = {
    "ServerHello", "EncryptedExtensions", "Certificate", "CertificateVerify", "Finished", "NewSessionTicket"};

class EncryptedTransport : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Lookup, EncryptedTransport,
                         testing::Values(Transport::Dot, Transport::Doh, Transport::Doh3, Transport::Doq),
                         [](const auto& transport) { return std::string(to_string(transport.param)); });

TEST_P(EncryptedTransport, HandshakeMessagesComeInOrder) {
  const auto dissection = World(Plan(GetParam())).run().dissect();
  EXPECT_THAT(handshake_names(dissection, Direction::ToServer), ElementsAre("ClientHello", "Finished"));
  EXPECT_EQ(handshake_names(dissection, Direction::ToClient), kServerHandshake);
  for (const auto& message : dissection.handshake) {
    EXPECT_TRUE(message.is_complete);
    std::uint32_t at = 0;
    for (const auto& part : message.parts) {
      EXPECT_EQ(part.offset, at);
      EXPECT_NE(part.kind, PartKind::Body) << to_string(message.type);
      at += part.length;
    }
    EXPECT_EQ(at, message.length);
  }
  const auto& hellos = is_quic(GetParam()) ? dissection.quic_connections.at(0).hellos
                                           : dissection.tcp_connections.at(0).tls->hellos;
  EXPECT_EQ(hellos.alpn(), alpn(GetParam()));
  EXPECT_THAT(hellos.client->key_shares, ElementsAre(KeyShare{0x11ec, 1216}, KeyShare{0x1d, 32}));
  EXPECT_THAT(hellos.server->key_shares, ElementsAre(KeyShare{0x11ec, 1120}));
}

TEST_P(EncryptedTransport, CertificatesSumToTheChain) {
  Plan plan(GetParam());
  plan.server_tls = doxlab::test::server_tls_options(std::string(alpn(GetParam())), 3900);
  const auto dissection = World(plan).run().dissect();
  std::uint32_t certificates = 0, count = 0;
  for (const auto& message : dissection.handshake)
    for (const auto& part : message.parts)
      if (part.kind == PartKind::Certificate) {
        certificates += part.length - 3;
        ++count;
      }
  EXPECT_EQ(certificates, 3900u);
  EXPECT_EQ(count, 2u);
}

TEST_P(EncryptedTransport, CompressedCertificateIsOneMessage) {
  Plan plan(GetParam());
  plan.client_tls.certificate_compression =
      plan.server_tls.certificate_compression = {tls::CertificateCompression::Zlib};
  const auto dissection = World(plan).run().dissect();
  expect_exact(dissection);
  expect_all_read(dissection);
  const auto names = handshake_names(dissection, Direction::ToClient);
  EXPECT_THAT(names, testing::Contains("CompressedCertificate"));
  EXPECT_THAT(names, testing::Not(testing::Contains("Certificate")));
}

TEST_P(EncryptedTransport, HelloRetryRequestIsToldFromServerHello) {
  Plan plan(GetParam());
  plan.client_tls.groups = "*X25519:secp256r1";
  plan.server_tls.groups = "secp256r1";
  const auto dissection = World(plan).run().dissect();
  expect_exact(dissection);
  expect_all_read(dissection);
  expect_messages_counted_once(dissection);
  EXPECT_THAT(handshake_names(dissection, Direction::ToServer),
              ElementsAre("ClientHello", "ClientHello", "Finished"));
  auto expected = kServerHandshake;
  expected.insert(expected.begin(), "HelloRetryRequest");
  EXPECT_EQ(handshake_names(dissection, Direction::ToClient), expected);
}

TEST_P(EncryptedTransport, EveryCipherIsOpened) {
  // The ciphers follow from the secrets' lengths and from which of two fits, so the ServerHello is not
  // needed.
  for (const auto* groups : {"X25519", "X25519MLKEM768", "secp384r1"}) {
    Plan plan(GetParam());
    plan.client_tls.groups = groups;
    const auto dissection = World(plan).run().dissect();
    expect_exact(dissection);
    expect_all_read(dissection);
  }
}

TEST_P(EncryptedTransport, EarlyDataIsReadAsTheQueryItIs) {
  World world{Plan(GetParam())};
  const auto first = world.run();
  ASSERT_TRUE(first.ticket);
  world.plan().client.ticket = first.ticket;
  const auto second = world.run();
  const auto dissection = second.dissect();
  expect_exact(dissection);
  expect_all_read(dissection);
  expect_messages_counted_once(dissection);
  EXPECT_EQ(dns_octets(dissection), second.query.size() + second.answer.size());
  if (is_quic(GetParam())) {
    EXPECT_THAT(dissection.quic_packets,
                testing::Contains(testing::Field(&QuicPacket::type, QuicPacketType::ZeroRtt)));
    EXPECT_THAT(handshake_names(dissection, Direction::ToServer), ElementsAre("ClientHello", "Finished"));
  } else {
    EXPECT_TRUE(dissection.tcp_connections[0].tls->early_data_accepted);
    EXPECT_GT(dissection.tcp_connections[0].tls->early_bytes, second.query.size());
    EXPECT_THAT(handshake_names(dissection, Direction::ToServer),
                ElementsAre("ClientHello", "EndOfEarlyData", "Finished"));
  }
  const auto& hellos = is_quic(GetParam()) ? dissection.quic_connections.at(0).hellos
                                           : dissection.tcp_connections.at(0).tls->hellos;
  EXPECT_TRUE(hellos.client->has_psk);
  EXPECT_TRUE(hellos.client->has_early_data);
  EXPECT_TRUE(hellos.accepts_early_data());
}

TEST_P(EncryptedTransport, RefusedEarlyDataIsSentTwice) {
  const auto first = World(Plan(GetParam())).run();
  ASSERT_TRUE(first.ticket);
  Plan plan(GetParam());
  plan.client.ticket = first.ticket;
  World stranger(plan);  // a server that knows no tickets
  const auto second = stranger.run();
  const auto dissection = second.dissect();
  expect_exact(dissection);
  expect_all_read(dissection);
  EXPECT_GE(dns_octets(dissection), 2 * second.query.size() + second.answer.size());
  if (!is_quic(GetParam())) {
    EXPECT_FALSE(dissection.tcp_connections[0].tls->early_data_accepted);
    EXPECT_FALSE(dissection.tcp_connections[0].tls->rejected_early.empty());
  }
}

}  // namespace
}  // namespace doxlab::dissect
