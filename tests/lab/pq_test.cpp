// The price of the post-quantum key exchange, made again from the messages: what the public sizes of the key shares
// (FIPS 203, draft-ietf-tls-ecdhe-mlkem) and the headers of the packets say is what was counted.

#include <gtest/gtest.h>

#include <map>

#include "dissect/flow.hpp"
#include "experiment/rig.hpp"
#include "trace/critical_path.hpp"

namespace doxlab::experiment {
namespace {

using dissect::HandshakeType;
using dissect::TileKind;
using link::Direction;

// ML-KEM-768: encapsulation key and ciphertext; in the hybrid X25519's 32 octets come with each.
constexpr std::int64_t kEncapsulationKey = 1184, kCiphertext = 1088;

/// The octets of one lookup until its answer, by what they are.
struct Bill {
  std::map<std::pair<Direction, HandshakeType>, std::int64_t> messages;
  std::map<std::pair<Direction, TileKind>, std::int64_t> tiles;  ///< without messages
  std::map<Direction, std::int64_t> packets, ip_bytes;
  std::int64_t client_first_flight = 0;  ///< UDP payload
  std::uint64_t round_trips = 0;
  std::int64_t key_share = 0, point_formats = 0;                 ///< extensions of the ClientHello

  std::int64_t message(Direction d, HandshakeType type) const {
    const auto found = messages.find({d, type});
    return found == messages.end() ? 0 : found->second;
  }
};

Bill bill_of(const Sample& sample, const dissect::KeyLog& keys) {
  Bill out;
  const auto path = trace::critical_path(sample.packets, sample.result.started, *sample.result.answered);
  const auto cut = trace::cut_at_answer(sample.packets, path);
  out.round_trips = path->round_trips();
  const auto observed = dissect::observe(sample.packets);
  const auto dissection = dissect::dissect(observed, keys);
  for (const auto& message : dissection.handshake) {
    if (message.type != HandshakeType::ClientHello) continue;
    out.key_share += message.extension_bytes(dissect::kKeyShare);
    out.point_formats += message.extension_bytes(11);  // ec_point_formats, which OpenSSL sends for elliptic curves alone
  }
  std::optional<Timestamp> second_flight;  // of the client: what it sends on knowing something of the server
  for (const auto& packet : sample.packets)
    if (packet.place.direction == Direction::ToServer && packet.place.index > 0 && !second_flight) {
      const auto heard = std::ranges::any_of(sample.packets, [&](const auto& other) {
        return other.place.direction == Direction::ToClient && other.delivered && *other.delivered <= packet.sent;
      });
      if (heard) second_flight = packet.sent;
    }
  for (std::size_t i = 0; i < sample.packets.size(); ++i) {
    const auto& recorded = sample.packets[i];
    const auto d = recorded.place.direction;
    const bool counted = d == Direction::ToServer ? recorded.sent < cut.to_server : recorded.sent <= cut.to_client;
    if (!counted) continue;
    ++out.packets[d];
    out.ip_bytes[d] += static_cast<std::int64_t>(recorded.bytes.size());
    const auto payload = static_cast<std::int64_t>(recorded.bytes.size()) - 28;
    if (d == Direction::ToServer && second_flight && recorded.sent < *second_flight) out.client_first_flight += payload;
    for (const auto& tile : dissection.packets[i].tiles) {
      if (tile.kind == TileKind::TlsHandshake) out.messages[{d, dissection.handshake[tile.item].type}] += tile.length;
      else out.tiles[{d, tile.kind}] += tile.length;
    }
  }
  return out;
}

/// One bill a lookup and transport.
std::map<Transport, Bill> measure(const std::string& group) {
  experiment::Setup setup;
  setup.transports = {Transport::Dot, Transport::Doh, Transport::Doh3, Transport::Doq};
  setup.client_groups = "*" + group;
  setup.server_groups = group;
  setup.tickets = 0;  // their time is chance, so that they would be before the answer or behind it
  std::string secrets;
  setup.key_log = [&](std::string_view line) { secrets.append(line).append("\n"); };
  std::vector<Sample> samples;
  {
    Rig rig(setup);
    std::vector<Task> tasks;
    for (const auto t : setup.transports) tasks.push_back({.transport = t, .sample = 0});
    rig.run(tasks, {}, [&](Sample&& sample) { samples.push_back(std::move(sample)); }, {});
  }
  dissect::KeyLog keys;
  keys.add(secrets);
  std::map<Transport, Bill> out;
  for (const auto& sample : samples) {
    if (!sample.result.answered) throw std::runtime_error(sample.result.reason);
    out[sample.task.transport] = bill_of(sample, keys);
  }
  return out;
}

TEST(PostQuantum, BytesAreThoseOfTheMessagesAndTheirPackets) {
  const auto classical = measure("X25519"), hybrid = measure("X25519MLKEM768");
  for (const auto& [transport, pq] : hybrid) {
    SCOPED_TRACE(display_name(transport));
    const auto& cl = classical.at(transport);
    EXPECT_EQ(pq.key_share - cl.key_share, kEncapsulationKey);
    EXPECT_EQ(pq.message(Direction::ToServer, HandshakeType::ClientHello) -
                  cl.message(Direction::ToServer, HandshakeType::ClientHello),
              kEncapsulationKey + pq.point_formats - cl.point_formats);
    EXPECT_EQ(pq.message(Direction::ToClient, HandshakeType::ServerHello) -
                  cl.message(Direction::ToClient, HandshakeType::ServerHello),
              kCiphertext);
    // Every octet has a name, and the names sum to what was counted.
    for (const auto& bill : {pq, cl}) {
      std::map<Direction, std::int64_t> sums;
      for (const auto& [key, octets] : bill.messages) sums[key.first] += octets;
      for (const auto& [key, octets] : bill.tiles) sums[key.first] += octets;
      EXPECT_EQ(sums, bill.ip_bytes);
    }
    if (is_quic(transport)) continue;
    // Over TCP nothing else differs but the headers of more segments; a signature in DER varies by itself.
    for (const auto d : {Direction::ToServer, Direction::ToClient}) {
      const auto extra_packets = pq.packets.at(d) - cl.packets.at(d);
      for (const auto& [key, octets] : pq.tiles) {
        if (key.first != d) continue;
        const auto found = cl.tiles.find(key);
        const auto more = octets - (found == cl.tiles.end() ? 0 : found->second);
        const bool is_header = key.second == TileKind::IpHeader || key.second == TileKind::TcpHeader;
        if (key.second == TileKind::TcpOptions) continue;  // on the SYN more, on others less
        EXPECT_EQ(more, is_header ? extra_packets * 20 : 0) << dissect::to_string(key.second);
      }
      for (const auto& [key, octets] : pq.messages) {
        if (key.first != d || key.second == HandshakeType::ClientHello || key.second == HandshakeType::ServerHello) continue;
        const auto more = octets - cl.message(d, key.second);
        EXPECT_LE(std::abs(more), key.second == HandshakeType::CertificateVerify ? 4 : 0) << dissect::to_string(key.second);
      }
    }
  }
}

TEST(PostQuantum, RoundTripsFollowFromTheFirstFlightAndTheServersMessages) {
  for (const auto* group : {"X25519", "X25519MLKEM768"}) {
    for (const auto& [transport, bill] : measure(group)) {
      SCOPED_TRACE(std::string(group) + " " + std::string(display_name(transport)));
      if (!is_quic(transport)) {
        EXPECT_EQ(bill.round_trips, 3u);  // TCP, TLS, query
        continue;
      }
      // RFC 9000 §8.1: three times what came, until the client has proved its address.
      std::int64_t server_messages = 0;
      for (const auto& [key, octets] : bill.messages)
        if (key.first == Direction::ToClient) server_messages += octets;
      const bool stalls = server_messages > 3 * bill.client_first_flight;
      EXPECT_GE(bill.client_first_flight, 1200);
      EXPECT_EQ(bill.round_trips, stalls ? 3u : 2u) << server_messages << " octets of messages, "
                                                    << bill.client_first_flight << " of the first flight";
    }
  }
}

}  // namespace
}  // namespace doxlab::experiment
