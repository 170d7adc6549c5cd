// The published examples of QUIC's packet protection, versions 1 and 2.
#include <gtest/gtest.h>

#include "dissect/quic.hpp"
#include "hex.hpp"
#include "rfc_vectors.hpp"

namespace doxlab::dissect {
namespace {

using link::Direction;
using test::from_hex;

struct Vectors {
  std::uint32_t version;
  std::string_view client_initial, server_initial, retry, short_packet;
};
const Vectors kVectors[] = {
    {kQuicVersion1, vectors::kClientInitial1, vectors::kServerInitial1, vectors::kRetry1, vectors::kShort1},
    {kQuicVersion2, vectors::kClientInitial2, vectors::kServerInitial2, vectors::kRetry2, vectors::kShort2},
};

struct Followed {
  KeyLog keys;
  MemoryBudget budget;
  std::vector<HandshakeMessage> messages;
  std::vector<Bytes> datagrams;
  QuicDissector quic{keys, budget, messages};

  bool add(const Bytes& payload, bool to_server) {
    const SocketAddress client{IpAddress::v4({192, 0, 2, 1}), 40000},
        server{IpAddress::v4({192, 0, 2, 53}), 853};
    return quic.add({.packet = static_cast<std::uint32_t>(quic.packets.size()),
                     .offset = 28,
                     .payload = payload,
                     .source = to_server ? client : server,
                     .destination = to_server ? server : client,
                     .direction = {}});
  }
};

class QuicVectors : public testing::TestWithParam<Vectors> {};
INSTANTIATE_TEST_SUITE_P(Versions, QuicVectors, testing::ValuesIn(kVectors),
                         [](const auto& vectors) { return vectors.param.version == 1 ? "1" : "2"; });

TEST_P(QuicVectors, InitialsOpenWithKeysOfTheConnectionId) {
  const auto client = from_hex(GetParam().client_initial), server = from_hex(GetParam().server_initial);
  Followed f;
  ASSERT_TRUE(f.add(client, true));
  ASSERT_TRUE(f.add(server, false));
  f.quic.finish();
  ASSERT_EQ(f.quic.packets.size(), 2u);
  ASSERT_EQ(f.quic.connections.size(), 1u);
  EXPECT_EQ(to_hex(f.quic.connections[0].original_destination_id), vectors::kDestinationId);

  const auto& first = f.quic.packets[0];
  EXPECT_EQ(first.type, QuicPacketType::Initial);
  EXPECT_EQ(first.version, GetParam().version);
  EXPECT_TRUE(first.is_decrypted);
  EXPECT_EQ(first.packet_number, 2u);
  EXPECT_EQ(first.packet_number_bytes, 4u);
  EXPECT_EQ(first.header_length, 22u);
  EXPECT_EQ(first.offset, 28u);
  EXPECT_EQ(first.length, 1200u);
  ASSERT_EQ(first.frames, 2u);
  const auto& crypto = f.quic.frames[0];
  EXPECT_EQ(crypto.type, kFrameCrypto);
  EXPECT_EQ(crypto.offset, 28u + 22);
  EXPECT_EQ(crypto.header_length(), 4u);
  EXPECT_EQ(crypto.data_length, 241u);
  const auto& padding = f.quic.frames[1];
  EXPECT_EQ(padding.type, kFramePadding);
  EXPECT_EQ(padding.length, 1162u - 245);

  const auto& second = f.quic.packets[1];
  EXPECT_TRUE(second.is_decrypted);
  EXPECT_EQ(second.packet_number, 1u);
  EXPECT_EQ(second.packet_number_bytes, 2u);
  ASSERT_EQ(second.frames, 2u);
  EXPECT_EQ(f.quic.frames[2].type, kFrameAck);
  EXPECT_EQ(f.quic.frames[2].acked, (std::vector<AckRange>{{0, 0}}));
  EXPECT_EQ(f.quic.frames[3].data_length, 90u);
}

TEST_P(QuicVectors, HellosAreRead) {
  const auto client = from_hex(GetParam().client_initial), server = from_hex(GetParam().server_initial);
  Followed f;
  f.add(client, true);
  f.add(server, false);
  f.quic.finish();
  ASSERT_EQ(f.messages.size(), 2u);
  EXPECT_EQ(f.messages[0].type, HandshakeType::ClientHello);
  EXPECT_EQ(f.messages[0].length, 241u);
  EXPECT_TRUE(f.messages[0].is_complete);
  std::uint32_t at = 0;
  for (const auto& part : f.messages[0].parts) {
    EXPECT_EQ(part.offset, at);
    at += part.length;
  }
  EXPECT_EQ(at, 241u);
  EXPECT_EQ(f.messages[0].extension_bytes(kKeyShare), 42u);
  EXPECT_EQ(f.messages[1].type, HandshakeType::ServerHello);
  EXPECT_FALSE(f.messages[1].is_hello_retry_request);
  EXPECT_EQ(f.messages[1].length, 90u);

  const auto& hellos = f.quic.connections[0].hellos;
  ASSERT_TRUE(hellos.client && hellos.server);
  EXPECT_EQ(hellos.client->server_name, "example.com");
  EXPECT_EQ(hellos.client->cipher_suites, (std::vector<std::uint16_t>{0x1301, 0x1302}));
  EXPECT_EQ(hellos.client->groups, (std::vector<std::uint16_t>{0x1d, 0x17, 0x18}));
  EXPECT_EQ(hellos.client->key_shares, (std::vector<KeyShare>{{0x1d, 32}}));
  EXPECT_EQ(hellos.client->versions, (std::vector<std::uint16_t>{0x0304}));
  EXPECT_EQ(hellos.alpn(), "alpn");
  EXPECT_EQ(hellos.client->transport_parameters.size(), 50u);
  EXPECT_EQ(hellos.server->cipher_suites, (std::vector<std::uint16_t>{0x1301}));
  EXPECT_EQ(hellos.server->key_shares, (std::vector<KeyShare>{{0x1d, 32}}));
  EXPECT_EQ(to_hex(f.quic.connections[0].client_random.value()).substr(0, 8), "ebf8fa56");
}

TEST_P(QuicVectors, RetryIsAuthentic) {
  const auto client = from_hex(GetParam().client_initial), retry = from_hex(GetParam().retry);
  Followed f;
  f.add(client, true);
  ASSERT_TRUE(f.add(retry, false));
  auto damaged = retry;
  damaged[16] ^= 1;
  ASSERT_TRUE(f.add(damaged, false));
  f.quic.finish();
  const auto& packet = f.quic.packets[1];
  EXPECT_EQ(packet.type, QuicPacketType::Retry);
  EXPECT_TRUE(packet.is_retry_authentic);
  EXPECT_EQ(packet.token.offset, 28u + 15);
  EXPECT_EQ(packet.token.length, 5u);
  EXPECT_EQ(packet.length, 36u);
  EXPECT_FALSE(f.quic.packets[2].is_retry_authentic);
}

TEST_P(QuicVectors, ShortHeaderOpensWithChaCha20) {
  const auto packet = from_hex(GetParam().short_packet), secret = from_hex(vectors::kShortSecret);
  QuicKeys keys(GetParam().version, Cipher::ChaCha20Poly1305, secret);
  const auto header = read_quic_header(packet, 0);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->type, QuicPacketType::OneRtt);
  const auto plain = unprotect_header(keys, packet, *header, 654'360'560);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->packet_number, 654'360'564u);
  EXPECT_EQ(plain->packet_number_bytes, 3);
  EXPECT_FALSE(plain->key_phase());
  EXPECT_EQ(open_packet(keys, packet, *header, *plain), Bytes{1});
  EXPECT_FALSE(unprotect_header(keys, BytesView(packet).first(20),
                                *read_quic_header(BytesView(packet).first(20), 0), 0));
}

TEST(QuicKeyUpdate, NextSecretIsThatOfTheExample) {
  const auto secret = from_hex(vectors::kShortSecret);
  EXPECT_EQ(to_hex(QuicKeys(kQuicVersion1, Cipher::ChaCha20Poly1305, secret).updated().secret),
            "1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9");
  EXPECT_EQ(to_hex(QuicKeys(kQuicVersion2, Cipher::ChaCha20Poly1305, secret).updated().secret),
            "c69374c49e3d2a9466fa689e49d476db5d0dfbc87d32ceeaa6343fd0ae4c7d88");
}

TEST(QuicPacketNumber, IsThatNearestToTheExpectedOne) {
  // RFC 9000 §A.3: 0x9b32 in two octets after 0xa82f30ea is 0xa82f9b32. The window here has three octets.
  const auto packet = from_hex(vectors::kShort1), secret = from_hex(vectors::kShortSecret);
  QuicKeys keys(kQuicVersion1, Cipher::ChaCha20Poly1305, secret);
  const auto header = read_quic_header(packet, 0);
  const std::uint64_t low = 49'140, window = 1 << 24;
  for (const std::uint64_t expected :
       {std::uint64_t{0}, low, low + window / 2, low + window, 39 * window + low + 5}) {
    const auto number = unprotect_header(keys, packet, *header, expected)->packet_number;
    EXPECT_EQ(number % window, low);
    EXPECT_LE(number > expected ? number - expected : expected - number, window / 2) << expected;
  }
}

}  // namespace
}  // namespace doxlab::dissect
