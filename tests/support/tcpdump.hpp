#pragma once
/// tcpdump at one end of a lab: what an independent observer saw there.

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <format>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "capture/packet.hpp"
#include "lab/lab.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab::test {

inline constexpr std::size_t kLinkHeader = 14;  ///< of Ethernet and of the loopback device

/// The packets of a pcap file of this machine's byte order, from the IP header on, TCP and UDP only.
inline std::vector<Bytes> read_pcap(std::string_view file) {
  constexpr std::size_t kFileHeader = 24, kRecordHeader = 16, kLinkType = 20;
  std::uint32_t link_type = 0;
  if (file.size() >= kFileHeader) std::memcpy(&link_type, &file[kLinkType], sizeof link_type);
  const std::size_t before = (link_type & 0xffff) == 1 ? kLinkHeader : 0;  // LINKTYPE_ETHERNET
  std::vector<Bytes> packets;
  for (std::size_t at = kFileHeader; at + kRecordHeader <= file.size();) {
    std::uint32_t length;
    std::memcpy(&length, &file[at + 8], sizeof length);
    at += kRecordHeader;
    if (at + length > file.size()) break;
    auto packet = to_bytes(as_bytes(file.substr(at + before, length - std::min<std::size_t>(length, before))));
    if (capture::parse_headers(packet)) packets.push_back(std::move(packet));
    at += length;
  }
  return packets;
}

/// All of a packet, short enough to read in a failure.
inline std::string describe_packet(BytesView packet) {
  const auto headers = capture::parse_headers(packet);
  return std::format("{} {} flags {} {} octets, hash {:x}", headers->source.to_string(),
                     headers->destination.to_string(), headers->tcp_flags, packet.size(),
                     std::hash<std::string_view>{}(as_text(packet)));
}

/// Captures at the device of one side from its construction on.
class Tcpdump {
 public:
  Tcpdump(lab::Lab& lab, lab::Side side) {
    // With its own snap length of 256 KiB, tcpdump's ring would hold eight packets and lose the rest of a
    // burst.
    lab.run_in(side, [&] { start("lab0", 2048); });
  }
  /// At any device; packets may be as large as the device lets them be.
  Tcpdump(const net::NetworkNamespace& where, const std::string& device) {
    where.run([&] { start(device, 65575 + kLinkHeader); });
  }

  /// Ends the capture. Errors: std::runtime_error if tcpdump failed or missed packets.
  std::vector<Bytes> stop() {
    child_->signal(SIGINT);
    const auto status = child_->wait(kProgramLimit);
    if (status != 0 || !child_->errors().contains("\n0 packets dropped by kernel"))
      throw std::runtime_error("tcpdump failed or missed packets: " + child_->errors());
    return read_pcap(folder_.read("pcap"));
  }

 private:
  void start(const std::string& device, std::size_t snap_length) {
    child_ = start_program({"tcpdump", "-n", "-i", device, "-Z", "root", "--immediate-mode", "-s", std::to_string(snap_length),
                            "-B", "65536", "-U", "-w", folder_.file("pcap")});
    if (!child_->wait_for("listening on", kProgramLimit))
      throw std::runtime_error("tcpdump does not capture: " + child_->errors());
  }

  TemporaryFolder folder_;
  std::unique_ptr<net::ChildProcess> child_;
};

}  // namespace doxlab::test
