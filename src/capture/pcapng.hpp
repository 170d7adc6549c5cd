#pragma once
/// Captures that Wireshark and tcpdump open: a writer of pcapng (draft-ietf-opsawg-pcapng) with nanosecond
/// timestamps, packets from the IP header on, comments on packets that the link spoiled, and the TLS secrets
/// inside, so that the capture opens decrypted.

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/time.hpp"
#include "capture/packet.hpp"

namespace doxlab::capture {

/// Blocks in the order of the calls. What could not be written shows in the stream's state.
class PcapngWriter {
 public:
  enum class Flow : std::uint8_t { Unknown = 0, Inbound = 1, Outbound = 2 };

  /// Lifetime: `out` outlives this object.
  PcapngWriter(std::ostream& out, std::string_view application, std::string_view comment = {});

  /// Returns the number for add_packet.
  std::uint32_t add_interface(std::string_view name, std::string_view description);
  /// `key_log` has the lines of SSLKEYLOGFILE. Readers decrypt what comes after it.
  void add_secrets(std::string_view key_log);
  /// `when` counts nanoseconds since 1970. `packet` begins with the IP header.
  void add_packet(std::uint32_t interface, std::uint64_t when, BytesView packet, Flow flow,
                  std::string_view comment = {});

 private:
  void write_block(std::uint32_t type, BytesView body);

  std::ostream& out_;
  std::uint32_t interfaces_ = 0;
};

/// What comments say of packets that did not arrive, or not whole.
inline constexpr std::string_view kNeverArrived = "never arrived", kArrivedCorrupted = "arrived with one bit flipped";

/// Where a capture of recorded packets is seen from: a packet has the time at which this end sent or got it.
enum class Vantage : std::uint8_t { Client, Server };

struct CaptureOptions {
  Vantage vantage = Vantage::Client;
  /// Added to the packets' timestamps: the wall clock minus the monotonic clock.
  Duration wall_clock_offset{};
  /// Where packets to this end that never arrived stand: so long after their sending. With the delay of the link
  /// they keep their place among their neighbours, and readers that follow a stream do not lose it.
  Duration lost_after{};
  std::string key_log{};
  std::string comment{};  ///< of the whole capture
};

/// Writes packets as they become known, in order of time at the vantage point.
class CaptureWriter {
 public:
  /// The head of the capture. Lifetime: `out` outlives this object.
  CaptureWriter(std::ostream& out, const CaptureOptions& options);

  /// More secrets, for packets that are written later.
  void add_secrets(std::string_view key_log) { writer_.add_secrets(key_log); }
  /// Takes a packet; it is written by write_before(). `note` goes before what its comment says of its fate;
  /// `lookup` names the lookup there, else its sample number alone does.
  void add(RecordedPacket packet, std::string note = {}, std::string_view lookup = {});
  /// Writes what was seen before `end`. The caller adds nothing that was seen earlier any more.
  void write_before(Timestamp end);
  std::uint64_t written() const { return written_; }

 private:
  struct Seen {
    Timestamp when;
    std::uint64_t order = 0;  ///< of packets seen at the same time
    PcapngWriter::Flow flow = PcapngWriter::Flow::Unknown;
    std::string comment;
    RecordedPacket packet;
  };
  static bool is_later(const Seen& a, const Seen& b);

  Vantage vantage_;
  Duration wall_clock_offset_, lost_after_;
  PcapngWriter writer_;
  std::uint32_t interface_;
  std::vector<Seen> waiting_;  ///< a heap, earliest on top
  std::uint64_t added_ = 0, written_ = 0;
};

/// Writes packets in order of time. Packets that never arrived are there too, with a comment that says what
/// became of them: those of this end at the time of their sending, those for it as `lost_after` says.
void write_capture(std::ostream& out, std::span<const RecordedPacket> packets, const CaptureOptions& options);

}  // namespace doxlab::capture
