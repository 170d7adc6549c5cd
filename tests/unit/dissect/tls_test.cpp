// TLS over TCP: ciphers, padding, key updates, and streams that were not captured whole.
#include <gmock/gmock.h>
#include <openssl/ssl.h>

#include "check.hpp"
#include "unit/tls/loopback.hpp"
#include "wire.hpp"

namespace doxlab::dissect {
namespace {

using link::Direction;
using namespace test;
using testing::ElementsAre;

/// A TLS conversation whose every run of octets is sent over TCP.
struct Conversation {
  std::string key_log;
  tls::ClientOptions client_options = tls::testing::client_options();
  tls::ServerOptions server_options = tls::testing::server_options();
  std::unique_ptr<tls::ClientContext> client_context;
  std::unique_ptr<tls::ServerContext> server_context;
  SSL *client_ssl = nullptr, *server_ssl = nullptr;
  std::unique_ptr<tls::Session> client, server;
  TcpTape tape{853};
  std::size_t mss = 1448;

  explicit Conversation(const char* ciphers = nullptr) {
    client_options.key_log = [this](std::string_view line) { key_log.append(line).append("\n"); };
    client_context = std::make_unique<tls::ClientContext>(client_options);
    server_context = std::make_unique<tls::ServerContext>(server_options);
    auto client_side = client_context->new_ssl(tls::testing::kName, "dot", nullptr);
    auto server_side = server_context->new_ssl(false);
    client_ssl = client_side.get();
    server_ssl = server_side.get();
    if (ciphers != nullptr) SSL_set_ciphersuites(client_ssl, ciphers);
    client = std::make_unique<tls::Session>(std::move(client_side));
    server = std::make_unique<tls::Session>(std::move(server_side));
    tape.open();
  }

  void exchange() {
    for (bool moved = true; moved;) {
      moved = false;
      if (const auto bytes = client->take_output(); !bytes.empty()) {
        tape.send(Direction::ToServer, bytes, false, mss);
        EXPECT_TRUE(server->receive(bytes));
        moved = true;
      }
      if (const auto bytes = server->take_output(); !bytes.empty()) {
        tape.send(Direction::ToClient, bytes, false, mss);
        EXPECT_TRUE(client->receive(bytes));
        moved = true;
      }
    }
  }
  void handshake() {
    EXPECT_TRUE(client->start());
    exchange();
  }
  void say(tls::Session& who, std::string_view text) {
    EXPECT_TRUE(who.write(as_bytes(text)));
    exchange();
  }
  Dissection dissect() const {
    KeyLog keys;
    keys.add(key_log);
    return dissect::dissect(observe(tape.packets), keys);
  }
};

std::string_view application(const Dissection& dissection, Direction direction) {
  return as_text(dissection.tcp_connections.at(0).tls->application[side(direction)]);
}

TEST(TlsDissection, OpensEveryCipherOfTls13) {
  for (const auto* cipher :
       {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}) {
    Conversation talk(cipher);
    talk.handshake();
    EXPECT_EQ(talk.client->info().cipher, cipher);
    talk.say(*talk.client, "hello");
    talk.say(*talk.server, "good day");
    const auto dissection = talk.dissect();
    expect_exact(dissection);
    EXPECT_EQ(application(dissection, Direction::ToServer), "hello") << cipher;
    EXPECT_EQ(application(dissection, Direction::ToClient), "good day") << cipher;
  }
}

TEST(TlsDissection, PaddingIsCounted) {
  Conversation talk;
  SSL_set_block_padding(talk.client_ssl, 512);
  talk.handshake();
  talk.say(*talk.client, "hello");
  const auto dissection = talk.dissect();
  expect_exact(dissection);
  EXPECT_EQ(application(dissection, Direction::ToServer), "hello");
  const auto& record = *std::ranges::find_if(dissection.records, [](const TlsRecord& r) {
    return r.epoch == Epoch::Application && r.content_type == TlsContentType::ApplicationData;
  });
  EXPECT_EQ(record.content_length, 5u);
  EXPECT_EQ(record.content_length + 1 + record.padding, 512u);
  EXPECT_EQ(record.length, kRecordHeaderBytes + 512 + 16);
  EXPECT_GE(octets_by_kind(dissection).at(TileKind::TlsPadding), 506u);
}

TEST(TlsDissection, FollowsKeyUpdates) {
  Conversation talk;
  talk.handshake();
  std::string said;
  for (int i = 0; i < 3; ++i) {
    talk.say(*talk.client, "ping" + std::to_string(i));
    SSL_key_update(talk.client_ssl, SSL_KEY_UPDATE_REQUESTED);
    talk.say(*talk.server, "pong");
  }
  talk.say(*talk.client, "end");
  const auto dissection = talk.dissect();
  expect_exact(dissection);
  EXPECT_EQ(application(dissection, Direction::ToServer), "ping0ping1ping2end");
  EXPECT_EQ(application(dissection, Direction::ToClient), "pongpongpong");
  EXPECT_THAT(handshake_names(dissection, Direction::ToServer),
              ElementsAre("ClientHello", "Finished", "KeyUpdate", "KeyUpdate", "KeyUpdate"));
}

TEST(TlsDissection, AlertsAreRead) {
  Conversation talk;
  talk.handshake();
  talk.client->close();
  talk.exchange();
  const auto dissection = talk.dissect();
  expect_exact(dissection);
  EXPECT_EQ(octets_by_kind(dissection).at(TileKind::TlsAlert), 2u * (talk.server->peer_closed() ? 1 : 0));
}

TEST(TlsDissection, SegmentsOfAnySizeGiveTheSameSums) {
  // The same octets once in large and once in tiny segments: every name but TCP's and IP's keeps its sum.
  Conversation talk;
  talk.handshake();
  talk.say(*talk.client, std::string(5000, 'q'));
  talk.say(*talk.server, std::string(20000, 'a'));
  const auto whole = talk.dissect();
  const auto expected = octets_by_kind(whole);
  for (const std::size_t mss : {1u, 7u, 536u}) {
    TcpTape tape(853);
    tape.open();
    for (const auto& segment : whole.segments) {
      if (segment.payload_length == 0) continue;
      const auto payload = BytesView(talk.tape.packets[segment.packet].bytes).subspan(segment.payload_offset);
      tape.send(segment.direction, payload, false, mss);
    }
    KeyLog keys;
    keys.add(talk.key_log);
    const auto dissection = dissect(observe(tape.packets), keys);
    expect_exact(dissection);
    auto octets = octets_by_kind(dissection);
    for (const auto& [kind, count] : expected)
      if (kind != TileKind::IpHeader && kind != TileKind::TcpHeader) {
        EXPECT_EQ(octets[kind], count) << to_string(kind) << " mss " << mss;
      }
  }
}

TEST(TlsDissection, GoesOnBehindAHoleInsideOfARecord) {
  Conversation talk;
  talk.handshake();
  talk.say(*talk.client, std::string(10000, 'q'));
  talk.say(*talk.client, "after");
  auto whole = talk.dissect();
  // Take out the middle segment of the long record.
  std::uint32_t victim = kNone;
  std::size_t full = 0;
  for (const auto& segment : whole.segments)
    if (segment.direction == Direction::ToServer && segment.payload_length == 1448 && ++full == 4)
      victim = segment.packet;
  ASSERT_NE(victim, kNone);
  talk.tape.packets.erase(talk.tape.packets.begin() + victim);
  const auto dissection = talk.dissect();
  expect_exact(dissection);
  EXPECT_EQ(application(dissection, Direction::ToServer), "after");
  EXPECT_TRUE(octets_by_kind(dissection).contains(TileKind::TlsCiphertext));
}

TEST(TlsDissection, FindsKeysAgainBehindAHoleInTheHandshake) {
  // Without the record of the Certificate, or even of the Finished, what comes later is still read.
  Conversation talk;
  talk.mss = 50;
  talk.handshake();
  talk.say(*talk.server, "after");
  const auto whole = talk.dissect();
  int holes = 0;
  for (const auto& segment : whole.segments) {
    if (segment.direction != Direction::ToClient || segment.payload_length == 0) continue;
    auto without = talk.tape.packets;
    without.erase(without.begin() + segment.packet);
    KeyLog keys;
    keys.add(talk.key_log);
    const auto dissection = dissect(observe(without), keys);
    expect_exact(dissection);
    const auto range = segment.stream_range();
    const bool takes_header = std::ranges::any_of(whole.records, [&](const TlsRecord& record) {
      return record.direction == Direction::ToClient && record.stream_offset < range.end &&
             record.stream_offset + kRecordHeaderBytes > range.begin;
    });
    if (takes_header) continue;
    EXPECT_EQ(application(dissection, Direction::ToClient), "after");
    ++holes;
  }
  EXPECT_GT(holes, 0);
}

TEST(TlsDissection, SaysWhatIsNotCaptured) {
  Conversation talk;
  talk.handshake();
  auto observed = observe(talk.tape.packets);
  KeyLog keys;
  keys.add(talk.key_log);
  for (const std::uint32_t snap : {0u, 10u, 20u, 39u, 60u, 96u, 200u}) {
    auto cut = observed;
    for (auto& packet : cut)
      packet.bytes = packet.bytes.first(std::min<std::size_t>(packet.bytes.size(), snap));
    const auto dissection = dissect(cut, keys);
    expect_exact(dissection);
    std::uint64_t expected = 0;
    for (const auto& packet : cut) expected += packet.ip_bytes - packet.bytes.size();
    EXPECT_EQ(octets_by_kind(dissection)[TileKind::NotCaptured], expected) << snap;
  }
}

}  // namespace
}  // namespace doxlab::dissect
