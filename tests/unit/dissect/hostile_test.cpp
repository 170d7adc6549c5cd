// Captures that are damaged, cut, shuffled or made on purpose: a clear message or a partial result that says
// so, and memory within bounds.
#include <gmock/gmock.h>

#include <chrono>
#include <random>
#include <set>
#include <sstream>

#include "capture/pcapng.hpp"
#include "check.hpp"
#include "dissect/flow_collector.hpp"
#include "dissect/limits.hpp"
#include "dissect/pcap_reader.hpp"
#include "lookups.hpp"
#include "seal.hpp"

namespace doxlab::dissect {
namespace {

using link::Direction;
using namespace test;
using testing::HasSubstr;

/// What a capture gave, whole or not.
struct Outcome {
  std::string error;
  CaptureCounts counts;
  std::size_t packets = 0;
  std::vector<Dissection> flows;
};

Outcome read_capture(const std::string& file) {
  Outcome out;
  std::istringstream in(file);
  auto reader = PcapReader::open(in);
  if (!reader) {
    out.error = reader.error().message;
    return out;
  }
  FlowCollector collector([&](Flow&& flow) { out.flows.push_back(dissect(flow.observe(), reader->keys())); });
  while (true) {
    const auto packet = reader->next();
    if (!packet) out.error = packet.error().message;
    if (!packet || !*packet) break;
    collector.add(**packet);
    ++out.packets;
  }
  collector.finish();
  out.counts = reader->counts();
  for (const auto& flow : out.flows) expect_exact(flow);
  return out;
}

std::string capture_of(const Lookup& lookup, std::string_view key_log) {
  std::ostringstream out;
  capture::write_capture(out, lookup.packets, {.key_log = std::string(key_log)});
  return out.str();
}

/// pcap with little-endian numbers; packets cut at `snap` octets.
std::string pcap_of(const Lookup& lookup, bool is_nano, std::size_t snap = 65535) {
  std::string out;
  const auto put = [&](std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  };
  put(is_nano ? 0xa1b23c4d : 0xa1b2c3d4, 4);
  put(2, 2);
  put(4, 2);
  put(0, 8);
  put(snap, 4);
  put(101, 4);
  for (const auto& packet : lookup.packets) {
    const auto kept = std::min(snap, packet.bytes.size());
    put(to_ns(packet.sent) / 1'000'000'000, 4);
    put(to_ns(packet.sent) % 1'000'000'000 / (is_nano ? 1 : 1000), 4);
    put(kept, 4);
    put(packet.bytes.size(), 4);
    out += as_text(BytesView(packet.bytes).first(kept));
  }
  return out;
}

Lookup small_lookup(Transport transport) {
  Plan plan(transport);
  plan.client_tls.groups = "X25519";
  plan.client_tls.certificate_compression =
      plan.server_tls.certificate_compression = {tls::CertificateCompression::Zlib};
  return World(plan).run();
}

class HostileCapture : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Dissect, HostileCapture, testing::Values(Transport::Do53, Transport::Dot, Transport::Doq),
                         [](const auto& transport) { return std::string(to_string(transport.param)); });

/// Where a capture may end without being cut: behind its header, and behind each packet or block.
std::set<std::size_t> boundaries_of(const std::string& capture) {
  const bool is_pcapng = capture[0] == 0x0a;  // in network byte order; pcap here is not
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
      value = value << 8 | static_cast<std::uint8_t>(capture[at + (is_pcapng ? i : 3 - i)]);
    return value;
  };
  std::size_t at = is_pcapng ? 0 : 24;
  std::set<std::size_t> out = {is_pcapng ? number(4) : at};
  while (at < capture.size()) {
    at += is_pcapng ? number(at + 4) : 16 + number(at + 8);
    out.insert(at);
  }
  return out;
}

TEST_P(HostileCapture, TruncatedAtEveryOctetSaysSo) {
  const auto lookup = small_lookup(GetParam());
  for (const auto& whole : {capture_of(lookup, lookup.key_log), pcap_of(lookup, false)}) {
    ASSERT_EQ(read_capture(whole).packets, lookup.packets.size());
    const auto boundaries = boundaries_of(whole);
    std::size_t before = 0;
    for (std::size_t length = 0; length < whole.size() && !HasFailure(); ++length) {
      const auto cut = read_capture(whole.substr(0, length));
      if (length < *boundaries.begin()) {
        EXPECT_TRUE(!cut.error.empty() || cut.counts.ends_early) << length;
      } else {
        EXPECT_EQ(cut.counts.ends_early, !boundaries.contains(length)) << length;
      }
      EXPECT_GE(cut.packets, before) << length;
      before = cut.packets;
    }
    EXPECT_EQ(before + 1, lookup.packets.size());
  }
}

TEST_P(HostileCapture, CutPacketsKeepTheirSumsAndSayWhatIsMissing) {
  const auto lookup = small_lookup(GetParam());
  std::uint64_t total = 0;
  for (const auto& packet : lookup.packets) total += packet.bytes.size();
  for (const std::size_t snap : {1u, 19u, 20u, 27u, 28u, 40u, 41u, 60u, 96u, 200u, 1000u}) {
    const auto read = read_capture(pcap_of(lookup, true, snap));
    EXPECT_EQ(read.error, "");
    std::uint64_t octets = 0, missing = 0, kept = 0;
    for (const auto& flow : read.flows) {
      for (const auto& packet : flow.packets) {
        octets += packet.ip_bytes;
        kept += packet.captured_bytes;
      }
      const auto kinds = octets_by_kind(flow);
      if (const auto found = kinds.find(TileKind::NotCaptured); found != kinds.end()) missing += found->second;
    }
    EXPECT_EQ(octets, total) << snap;
    EXPECT_EQ(missing, total - kept) << snap;
  }
}

TEST_P(HostileCapture, MicrosecondsAndNanosecondsGiveTheSame) {
  const auto lookup = small_lookup(GetParam());
  const auto micro = read_capture(pcap_of(lookup, false)), nano = read_capture(pcap_of(lookup, true));
  ASSERT_EQ(micro.flows.size(), 1u);
  ASSERT_EQ(nano.flows.size(), 1u);
  EXPECT_EQ(octets_by_kind(micro.flows[0]), octets_by_kind(nano.flows[0]));
}

TEST_P(HostileCapture, AnyOrderOfPacketsKeepsTheSums) {
  auto lookup = small_lookup(GetParam());
  const auto seed = static_cast<std::uint32_t>(std::random_device{}());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uint64_t total = 0;
  for (const auto& packet : lookup.packets) total += packet.bytes.size();
  for (int round = 0; round < 50; ++round) {
    std::ranges::shuffle(lookup.packets, random);
    KeyLog keys;
    keys.add(lookup.key_log);
    auto observed = observe(lookup.packets);
    for (auto& packet : observed) packet.direction.reset();
    const auto dissection = dissect(observed, keys);
    expect_exact(dissection);
    std::uint64_t sum = 0;
    for (const auto& [kind, octets] : octets_by_kind(dissection)) sum += octets;
    EXPECT_EQ(sum, total);
  }
}

class ProtectedCapture : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Dissect, ProtectedCapture, testing::Values(Transport::Dot, Transport::Doq),
                         [](const auto& transport) { return std::string(to_string(transport.param)); });

TEST_P(ProtectedCapture, WrongSecretsLeaveCiphertextWithItsName) {
  const auto lookup = small_lookup(GetParam());
  // The right sessions with other secrets: labels and random stay, the secrets' digits move.
  std::string wrong;
  std::istringstream lines(lookup.key_log);
  for (std::string line; std::getline(lines, line);) {
    line.back() = line.back() == '0' ? '1' : '0';
    wrong += line + "\n";
  }
  const auto read = read_capture(capture_of(lookup, wrong)), without = read_capture(capture_of(lookup, ""));
  ASSERT_EQ(read.flows.size(), 1u);
  const auto with_wrong = octets_by_kind(read.flows[0]);
  EXPECT_EQ(with_wrong, octets_by_kind(without.flows[0]));
  EXPECT_TRUE(with_wrong.contains(TileKind::TlsCiphertext) || with_wrong.contains(TileKind::QuicCiphertext));
  EXPECT_TRUE(read.flows[0].dns_messages.empty());
}

TEST(HostileFlow, PacketsCutOffTakeNoMemoryForWhatIsMissing) {
  // 24 octets each that claim to be the beginning of 65,535.
  const auto packet = udp(client_of(53), server_of(53), Bytes(1000));
  Bytes head(packet.begin(), packet.begin() + 24);
  head[2] = head[3] = 0xff;
  std::vector<ObservedPacket> observed(50'000, {.bytes = head,
                                                .ip_bytes = 65'535,
                                                .sent = Timestamp{1s},
                                                .delivered = Timestamp{1s},
                                                .direction = {}});
  const auto before = std::chrono::steady_clock::now();
  const auto dissection = dissect(observed, {});
  EXPECT_LT(std::chrono::steady_clock::now() - before, 60s);
  expect_exact(dissection);
}

TEST(HostileFlow, TinyMessagesAreTakenApartUpToABound) {
  // Zeros are messages of no octets, one for every two of them.
  TcpTape tape(53);
  tape.open();
  tape.send(Direction::ToServer, Bytes(2 * kMostItems + 40'000), false, 40'000);
  const auto dissection = dissect(observe(tape.packets), {});
  expect_exact(dissection);
  EXPECT_EQ(dissection.dns_messages.size(), kMostItems);
  EXPECT_GT(octets_by_kind(dissection)[TileKind::TcpPayload], 0u);
}

TEST(HostileFlow, TinyFramesAreTakenApartUpToABound) {
  const Bytes destination(8, 1), source(8, 2);
  const auto initial = udp(client_of(853), server_of(853), seal_client_initial(destination, source, 0, Bytes(1100, 1)));
  std::vector<ObservedPacket> observed(
      kMostItems / 1100 + 10,
      {.bytes = initial, .ip_bytes = static_cast<std::uint32_t>(initial.size()), .sent = Timestamp{1s}, .delivered = Timestamp{1s}, .direction = {}});
  const auto dissection = dissect(observed, {});
  expect_exact(dissection);
  EXPECT_GE(dissection.quic_frames.size(), kMostItems);
  EXPECT_LT(dissection.quic_frames.size(), kMostItems + 1300);
  EXPECT_FALSE(dissection.quic_packets.back().is_decrypted);
  EXPECT_GT(octets_by_kind(dissection)[TileKind::QuicCiphertext], 0u);
}

TEST(HostileFile, LengthThatTheFileDoesNotKeepIsAnEarlyEnd) {
  const auto lookup = small_lookup(Transport::Do53);
  auto file = pcap_of(lookup, false);
  file.resize(24 + 16 + 10);
  file[24 + 8 + 2] = '\x70';  // 7 MiB
  const auto read = read_capture(file);
  EXPECT_TRUE(read.counts.ends_early);
  EXPECT_EQ(read.packets, 0u);
  file[24 + 8 + 3] = '\x70';
  EXPECT_THAT(read_capture(file).error, HasSubstr("16 MiB"));
}

}  // namespace
}  // namespace doxlab::dissect
