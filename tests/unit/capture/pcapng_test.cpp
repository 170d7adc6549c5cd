#include "capture/pcapng.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "packets.hpp"

namespace doxlab::capture {
namespace {

using link::Direction;
using link::Fate;
using namespace test;

TEST(PcapngWriter, BlocksAreAsTheFormatSays) {
  std::ostringstream out;
  PcapngWriter writer(out, "a");
  writer.add_secrets("KEY");
  EXPECT_EQ(writer.add_interface("c", ""), 0u);
  writer.add_packet(0, 0x0102030405060708, Bytes{0x45, 0, 0, 1, 2}, PcapngWriter::Flow::Inbound, "hey");
  EXPECT_EQ(to_hex(as_bytes(out.str())),
            // Section header: type, length, magic, version, unknown section length, application, end, length.
            "0a0d0d0a"
            "00000028"
            "1a2b3c4d"
            "00010000"
            "ffffffffffffffff"
            "0004000161000000"
            "00000000"
            "00000028"
            // Secrets: type, length, TLS key log, its length, padded text, length.
            "0000000a"
            "00000018"
            "544c534b"
            "00000003"
            "4b455900"
            "00000018"
            // Interface: type, length, raw IP, no snap length, name, resolution 10^-9, end, length.
            "00000001"
            "00000028"
            "00650000"
            "00000000"
            "0002000163000000"
            "0009000109000000"
            "00000000"
            "00000028"
            // Packet: type, length, interface, time, lengths, padded octets, comment, flags, end, length.
            "00000006"
            "0000003c"
            "00000000"
            "01020304"
            "05060708"
            "00000005"
            "00000005"
            "4500000102000000"
            "0001000368657900"
            "0002000400000001"
            "00000000"
            "0000003c");
}

RecordedPacket recorded(Direction direction, std::uint64_t index, Duration sent,
                        std::optional<Duration> delivered) {
  const Timestamp start = from_ns(1'700'000'000'000'000'000);
  RecordedPacket packet;
  packet.lookup = 1;
  packet.place = {17, direction, index};
  packet.sent = start + sent;
  if (delivered) packet.delivered = start + *delivered;
  packet.bytes = ipv4(17, udp({'q'}));
  return packet;
}

/// What tshark says about the fields of each packet, one line a packet.
std::vector<std::string> read_with_tshark(const std::string& capture, const std::string& fields) {
  const auto path = std::filesystem::temp_directory_path() / ("doxlab-capture-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << capture;
  const auto command =
      "tshark -n -r '" + path.string() + "' -T fields -E 'separator=|' " + fields + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  std::vector<std::string> lines;
  std::string text;
  for (int c; (c = std::fgetc(pipe.get())) != EOF;) {
    if (c != '\n')
      text += static_cast<char>(c);
    else
      lines.push_back(std::exchange(text, {}));
  }
  std::filesystem::remove(path);
  return lines;
}

TEST(WriteCapture, TsharkReadsTimesDirectionsAndComments) {
  auto lost = recorded(Direction::ToClient, 3, 25ms, {});
  lost.fate = Fate::Lost;
  auto second_copy = recorded(Direction::ToServer, 0, 0ms, 20ms);
  second_copy.duplicate = true;
  const std::vector packets = {recorded(Direction::ToServer, 0, 0ms, 20ms), second_copy, lost,
                               recorded(Direction::ToClient, 4, 26ms, 46ms + 5ns),
                               recorded(Direction::ToServer, 1, 30ms, 50ms)};
  std::ostringstream out;
  write_capture(out, packets, {.key_log = "CLIENT_RANDOM 00 00\n", .comment = "one lookup"});
  const auto lines = read_with_tshark(out.str(),
                                      "-e frame.time_epoch -e frame.packet_flags_direction -e udp.dstport -e "
                                      "frame.interface_name -e frame.comment");
  ASSERT_FALSE(lines.empty()) << "tshark did not read the capture; is it installed?";
  EXPECT_THAT(
      lines, testing::ElementsAre(
                 "1700000000.000000000|0x00000002|53|client|",
                 "1700000000.025000000|0x00000001|53|client|never arrived: lost [sample 17, s2c packet 3]",
                 "1700000000.030000000|0x00000002|53|client|", "1700000000.046000005|0x00000001|53|client|"));
}

TEST(WriteCapture, ServerSeesItsOwnTimes) {
  const std::vector packets = {recorded(Direction::ToServer, 0, 0ms, 20ms),
                               recorded(Direction::ToClient, 0, 21ms, 41ms)};
  std::ostringstream out;
  write_capture(out, packets, {.vantage = Vantage::Server, .wall_clock_offset = 1s});
  EXPECT_THAT(read_with_tshark(out.str(), "-e frame.time_epoch -e frame.interface_name"),
              testing::ElementsAre("1700000001.020000000|server", "1700000001.021000000|server"));
}

TEST(CaptureWriter, WritesInOrderOfTimeWhatWasSeenBeforeAnInstant) {
  std::ostringstream out;
  CaptureWriter writer(out, {});
  // Towards the client the time is that of the delivery, so the second packet is seen last.
  writer.add(recorded(Direction::ToServer, 0, 0ms, 20ms));
  writer.add(recorded(Direction::ToClient, 0, 1ms, 41ms));
  writer.add(recorded(Direction::ToServer, 1, 30ms, 50ms));
  const auto first = recorded(Direction::ToServer, 0, 0ms, 20ms).sent;
  writer.write_before(first);
  EXPECT_EQ(writer.written(), 0u);
  writer.write_before(first + 1ns);
  EXPECT_EQ(writer.written(), 1u);
  writer.add_secrets("CLIENT_RANDOM 00 00\n");
  writer.add(recorded(Direction::ToServer, 2, 35ms, 55ms));
  writer.write_before(first + 1s);
  EXPECT_EQ(writer.written(), 4u);
  EXPECT_THAT(read_with_tshark(out.str(), "-e frame.time_epoch -e frame.packet_flags_direction"),
              testing::ElementsAre("1700000000.000000000|0x00000002", "1700000000.030000000|0x00000002",
                                   "1700000000.035000000|0x00000002", "1700000000.041000000|0x00000001"));
}

}  // namespace
}  // namespace doxlab::capture
