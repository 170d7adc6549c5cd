// Capture files: formats, byte orders, links, damage.
#include <gmock/gmock.h>

#include <sstream>

#include "capture/pcapng.hpp"
#include "check.hpp"
#include "dissect/flow_collector.hpp"
#include "dissect/pcap_reader.hpp"
#include "lookups.hpp"

namespace doxlab::dissect {
namespace {

using link::Direction;
using namespace test;
using testing::HasSubstr;

/// Numbers in either byte order.
struct FileWriter {
  bool is_little = true;
  std::string out;

  void number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * (is_little ? i : bytes - 1 - i)));
  }
  void u16(std::uint64_t value) { number(value, 2); }
  void u32(std::uint64_t value) { number(value, 4); }
  void text(std::string_view value) { out += value; }
  void octets(BytesView value) { out += as_text(value); }
  void pad() {
    while (out.size() % 4 != 0) out += '\0';
  }
};

/// A block of pcapng around a body.
std::string block(bool is_little, std::uint32_t type, const std::string& body) {
  FileWriter writer{is_little, {}};
  writer.u32(type);
  writer.u32((body.size() + 3) / 4 * 4 + 12);
  writer.text(body);
  writer.pad();
  writer.u32((body.size() + 3) / 4 * 4 + 12);
  return writer.out;
}

std::string section(bool is_little) {
  FileWriter body{is_little, {}};
  body.u32(0x1a2b3c4d);
  body.u16(1);
  body.u16(0);
  body.u32(0xffff'ffff);
  body.u32(0xffff'ffff);
  return block(is_little, 0x0a0d0d0a, body.out);
}

std::string interface(bool is_little, std::uint16_t link, std::optional<std::uint8_t> resolution = {},
                      std::uint32_t snap = 0) {
  FileWriter body{is_little, {}};
  body.u16(link);
  body.u16(0);
  body.u32(snap);
  if (resolution) {
    body.u16(9);
    body.u16(1);
    body.number(*resolution, 1);
    body.pad();
    body.u32(0);
  }
  return block(is_little, 1, body.out);
}

std::string enhanced(bool is_little, std::uint64_t time, BytesView frame, std::uint64_t wire,
                     std::uint32_t interface_number = 0) {
  FileWriter body{is_little, {}};
  body.u32(interface_number);
  body.u32(time >> 32);
  body.u32(time & 0xffff'ffff);
  body.u32(frame.size());
  body.u32(wire);
  body.octets(frame);
  return block(is_little, 6, body.out);
}

Bytes packet_of(std::size_t payload) {
  return udp(client_of(53), server_of(53), Bytes(payload, 'p'));
}

struct ReadBack {
  std::vector<CapturedPacket> packets;
  std::vector<Bytes> bytes;
  std::string error;
  CaptureCounts counts;
  std::size_t sessions = 0;
};

ReadBack read_all(const std::string& file) {
  std::istringstream in(file);
  ReadBack out;
  auto reader = PcapReader::open(in);
  if (!reader) {
    out.error = reader.error().message;
    return out;
  }
  while (true) {
    auto packet = reader->next();
    if (!packet) {
      out.error = packet.error().message;
      break;
    }
    if (!*packet) break;
    out.bytes.push_back(to_bytes((*packet)->bytes));
    out.packets.push_back(**packet);
  }
  out.counts = reader->counts();
  out.sessions = reader->keys().sessions();
  return out;
}

TEST(PcapReader, ReadsPcapOfEitherOrderAndResolution) {
  for (const bool is_little : {true, false}) {
    for (const bool is_nano : {true, false}) {
      FileWriter file{is_little, {}};
      file.u32(is_nano ? 0xa1b23c4d : 0xa1b2c3d4);
      file.u16(2);
      file.u16(4);
      file.u32(0);
      file.u32(0);
      file.u32(65535);
      file.u32(101);
      const auto packet = packet_of(20);
      for (const std::size_t captured : {packet.size(), std::size_t{30}}) {
        file.u32(1'700'000'000);
        file.u32(123'456);
        file.u32(captured);
        file.u32(packet.size());
        file.octets(BytesView(packet).first(captured));
      }
      const auto read = read_all(file.out);
      EXPECT_EQ(read.error, "");
      ASSERT_EQ(read.packets.size(), 2u);
      EXPECT_EQ(read.bytes[0], packet);
      EXPECT_EQ(read.packets[0].time_ns, 1'700'000'000'000'000'000u + (is_nano ? 123'456 : 123'456'000));
      EXPECT_FALSE(read.packets[0].is_cut());
      EXPECT_EQ(read.packets[1].number, 2u);
      EXPECT_TRUE(read.packets[1].is_cut());
      EXPECT_EQ(read.packets[1].ip_bytes, packet.size());
      EXPECT_EQ(read.bytes[1].size(), 30u);
    }
  }
}

TEST(PcapReader, ReadsSectionsInterfacesAndTimesOfPcapng) {
  const auto packet = packet_of(8);
  std::string file = section(true) + interface(true, 101) + interface(true, 101, 9) +
                     interface(true, 101, 3) + interface(true, 101, 0x80 | 10) + interface(true, 101, 12);
  file += enhanced(true, 5'000'001, packet, packet.size(), 0);
  file += enhanced(true, 5'000'000'001, packet, packet.size(), 1);
  file += enhanced(true, 5'001, packet, packet.size(), 2);
  file += enhanced(true, 5 * 1024 + 512, packet, packet.size(), 3);
  file += enhanced(true, 5'000'000'001'000, packet, packet.size(), 4);
  file += block(true, 0xbad, "of a kind that nobody knows");
  file += section(false) + interface(false, 101, 9) + enhanced(false, 7, packet, packet.size());
  const auto read = read_all(file);
  EXPECT_EQ(read.error, "");
  ASSERT_EQ(read.packets.size(), 6u);
  EXPECT_EQ(read.packets[0].time_ns, 5'000'001'000u);
  EXPECT_EQ(read.packets[1].time_ns, 5'000'000'001u);
  EXPECT_EQ(read.packets[2].time_ns, 5'001'000'000u);
  EXPECT_EQ(read.packets[3].time_ns, 5'500'000'000u);
  EXPECT_EQ(read.packets[4].time_ns, 5'000'000'001u);
  EXPECT_EQ(read.packets[5].time_ns, 7u);
  EXPECT_EQ(read.packets[5].interface, 0u);
  for (const auto& bytes : read.bytes) EXPECT_EQ(bytes, packet);
  EXPECT_EQ(read.counts.skipped_blocks, 1u);
}

TEST(PcapReader, SimplePacketsAreCutAtTheSnapLength) {
  const auto packet = packet_of(50);
  FileWriter whole{true, {}}, cut{true, {}};
  whole.u32(packet.size());
  whole.octets(packet);
  cut.u32(packet.size());
  cut.octets(BytesView(packet).first(40));
  const auto read = read_all(section(true) + interface(true, 101) + block(true, 3, whole.out) +
                             section(true) + interface(true, 101, {}, 40) + block(true, 3, cut.out));
  EXPECT_EQ(read.error, "");
  ASSERT_EQ(read.packets.size(), 2u);
  EXPECT_EQ(read.bytes[0], packet);
  EXPECT_EQ(read.bytes[1].size(), 40u);
  EXPECT_TRUE(read.packets[1].is_cut());
}

TEST(PcapReader, LinkHeadersAndTrailersAreTakenOff) {
  const auto packet = packet_of(4);
  const auto v6 = [&] {
    Bytes out = {0x60, 0, 0, 0, 0, 4, 59, 64};
    out.resize(44);
    return out;
  }();
  const auto framed = [](Bytes header, const Bytes& inner, std::size_t trailer = 0) {
    header.insert(header.end(), inner.begin(), inner.end());
    header.resize(header.size() + trailer);
    return header;
  };
  const Bytes macs(12, 0xee);
  const struct {
    LinkType link;
    Bytes frame;
    Bytes expected;
  } cases[] = {
      {LinkType::Raw, packet, packet},
      {LinkType::Raw, v6, v6},
      {LinkType::Ethernet, framed(framed(macs, {8, 0}), packet, 14), packet},
      {LinkType::Ethernet, framed(framed(macs, {0x86, 0xdd}), v6, 4), v6},
      {LinkType::Ethernet, framed(framed(macs, {0x81, 0, 0, 5, 8, 0}), packet), packet},
      {LinkType::Ethernet, framed(framed(macs, {0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0}), packet), packet},
      {LinkType::Null, framed({2, 0, 0, 0}, packet), packet},
      {LinkType::Loop, framed({0, 0, 0, 24}, v6), v6},
      {LinkType::LinuxSll, framed(framed(Bytes(14, 0), {8, 0}), packet), packet},
      {LinkType::LinuxSll2, framed(framed({0x86, 0xdd}, Bytes(18, 0)), v6), v6},
      {LinkType::Ethernet, framed(framed(macs, {8, 6}), Bytes(28, 0)), {}},  // ARP
      {LinkType::Ethernet, macs, {}},
      {LinkType::Raw, {}, {}},
      {LinkType::Raw, {0x10}, {}},
  };
  for (const auto& c : cases) {
    const auto found = strip_link_header(c.link, c.frame, static_cast<std::uint32_t>(c.frame.size()));
    ASSERT_EQ(found.has_value(), !c.expected.empty()) << to_hex(c.frame);
    if (!found) continue;
    EXPECT_EQ(to_bytes(found->bytes), c.expected) << to_hex(c.frame);
    EXPECT_EQ(found->ip_bytes, c.expected.size());
  }
}

TEST(PcapReader, DamageIsAnErrorAndAnEarlyEndIsNot) {
  const auto packet = packet_of(9);
  const auto good = section(true) + interface(true, 101) + enhanced(true, 1, packet, packet.size());
  for (std::size_t length = good.size() - 1; length > section(true).size() + 1; --length) {
    const auto read = read_all(good.substr(0, length));
    EXPECT_EQ(read.error, "") << length;
    EXPECT_EQ(read.packets.size(), 0u);
    EXPECT_EQ(read.counts.ends_early, length != (section(true) + interface(true, 101)).size()) << length;
  }
  EXPECT_THAT(read_all("").error, HasSubstr("not a capture"));
  EXPECT_THAT(read_all("abcdefgh").error, HasSubstr("not a capture"));
  EXPECT_THAT(read_all(section(true) + enhanced(true, 1, packet, packet.size())).error,
              HasSubstr("not described"));
  auto lie = enhanced(true, 1, packet, packet.size());
  lie[lie.size() - 4] ^= 4;
  EXPECT_THAT(read_all(section(true) + interface(true, 101) + lie).error, HasSubstr("lengths"));
  auto long_packet = enhanced(true, 1, packet, packet.size());
  long_packet[20] = '\xff';
  EXPECT_THAT(read_all(section(true) + interface(true, 101) + long_packet).error, HasSubstr("longer"));
  FileWriter huge{true, {}};
  huge.u32(6);
  huge.u32(0xffff'fff0);
  EXPECT_THAT(read_all(section(true) + huge.out).error, HasSubstr("16 MiB"));
}

TEST(PcapReader, OwnCapturesComeBackWithSecretsAndComments) {
  Plan plan(Transport::Doq);
  plan.path.loss_probability = 0.2;
  plan.path.seed = 3;
  const auto lookup = World(plan).run();
  std::ostringstream out;
  capture::write_capture(out, lookup.packets, {.key_log = lookup.key_log});
  std::istringstream in(out.str());
  auto reader = PcapReader::open(in).value();
  std::vector<Flow> flows;
  FlowCollector collector([&](Flow&& flow) { flows.push_back(std::move(flow)); });
  std::size_t comments = 0, packets = 0;
  while (auto packet = reader.next().value()) {
    collector.add(*packet);
    comments += packet->comment.starts_with("never arrived");
    EXPECT_NE(packet->flow, CapturedPacket::Flow::Unknown);
    ++packets;
  }
  collector.finish();
  EXPECT_EQ(packets, lookup.packets.size());
  EXPECT_EQ(comments, static_cast<std::size_t>(
                          std::ranges::count_if(lookup.packets, [](const auto& p) { return !p.delivered; })));
  ASSERT_EQ(flows.size(), 1u);
  const auto dissection = dissect(flows[0].observe(), reader.keys());
  expect_exact(dissection);
  expect_all_read(dissection);
  EXPECT_EQ(octets_by_kind(dissection), octets_by_kind(lookup.dissect()));
}

TEST(FlowCollector, HandsOverByIdlenessAndMemory) {
  std::vector<std::size_t> sizes;
  FlowCollector collector([&](Flow&& flow) { sizes.push_back(flow.packets.size()); },
                          {.flow_bytes = 5000, .total_bytes = 8000, .idle = 10s});
  std::uint64_t time = 1'000'000'000'000;
  const auto add = [&](std::uint16_t port, int count) {
    const auto bytes = udp({client_of(53).ip, port}, server_of(53), Bytes(100));
    for (int i = 0; i < count; ++i)
      collector.add({.number = 1,
                     .time_ns = time,
                     .interface = 0,
                     .bytes = bytes,
                     .ip_bytes = static_cast<std::uint32_t>(bytes.size()),
                     .comment = {}});
  };
  add(1, 3);
  add(2, 4);
  time += 11'000'000'000;
  add(3, 5);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 4}));
  sizes.clear();
  add(3, 100);
  EXPECT_FALSE(sizes.empty());
  for (const auto size : sizes) EXPECT_LE(size, 25u);
  sizes.clear();
  for (std::uint16_t port = 100; port < 200; ++port) add(port, 1);
  EXPECT_GT(sizes.size(), 80u);
  collector.finish();
}

TEST(KeyLog, TakesLinesAsTheyCome) {
  const std::string random(64, 'a'), secret(64, '5'), other(96, '6');
  KeyLog keys;
  keys.add("# comment\r\nCLIENT_HANDSHAKE_TRAFFIC_SECRET " + random + " " + secret + "\r\n");
  keys.add("SERVER_TRAFFIC_SECRET_0 " + random + " " + other);
  keys.add("SERVER_TRAFFIC_SECRET_0 " + random + " " + secret);
  keys.add("CLIENT_TRAFFIC_SECRET_0 zz " + secret + "\nCLIENT_TRAFFIC_SECRET_0 " + random +
           " 55\nEXPORTER_SECRET " + random + " " + secret + "\n\n \nCLIENT_TRAFFIC_SECRET_0");
  TlsRandom key;
  key.fill(0xaa);
  const auto* found = keys.find(key);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->client_handshake, Bytes(32, 0x55));
  EXPECT_EQ(found->server_application, Bytes(48, 0x66));
  EXPECT_TRUE(found->client_application.empty());
  EXPECT_EQ(keys.sessions(), 1u);
  key[0] = 0;
  EXPECT_EQ(keys.find(key), nullptr);
}

TEST(KeyLog, IsTakenOutOfWhatAProgramLogs) {
  const std::string random(64, 'a'), secret(96, '5');
  const auto line = "SERVER_TRAFFIC_SECRET_0 " + random + " " + secret;
  std::string words = "03-Dec-2026 12:01:43.179 " + line + "\n;; connection refused\n" + "EXPORTER_SECRET " + random + " " + secret +
                      "\nSERVER_TRAFFIC_SECRET_0 is not known\nthe end";
  EXPECT_EQ(take_key_log(words), line + "\nEXPORTER_SECRET " + random + " " + secret + "\n");
  EXPECT_EQ(words, ";; connection refused\nSERVER_TRAFFIC_SECRET_0 is not known\nthe end\n");
  EXPECT_EQ(take_key_log(words), "");
}

}  // namespace
}  // namespace doxlab::dissect
