#pragma once
/// Reads captures of any size packet by packet: pcap (microseconds and nanoseconds) and pcapng with the TLS
/// secrets inside, in both byte orders, from the links that link_layer.hpp knows. Our own writer is
/// capture/pcapng.hpp.

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "dissect/key_log.hpp"
#include "dissect/link_layer.hpp"

namespace doxlab::dissect {

/// One packet of a capture, from its IP header on.
struct CapturedPacket {
  std::uint64_t number = 0;     ///< of its frame in the file, from 1, as other tools count
  std::uint64_t time_ns = 0;    ///< since 1970; 0 where the file has no time (simple packets)
  std::uint32_t interface = 0;  ///< of its section, from 0
  BytesView bytes;              ///< valid until the next call
  std::uint32_t ip_bytes = 0;   ///< on the wire; more than `bytes`: the capture cut the packet
  std::string comment;          ///< the first one
  enum class Flow : std::uint8_t { Unknown = 0, Inbound = 1, Outbound = 2 } flow = Flow::Unknown;

  bool is_cut() const { return ip_bytes > bytes.size(); }
};

/// How far a file was read.
struct CaptureCounts {
  std::uint64_t frames = 0;          ///< packets of all kinds
  std::uint64_t not_ip = 0;          ///< of them, passed over: no IP, or cut off before it
  std::uint64_t skipped_blocks = 0;  ///< of pcapng, of kinds that are not read
  bool ends_early = false;           ///< the file ends inside of a packet or block
};

class PcapReader {
 public:
  /// Reads the file header. Errors: neither pcap nor pcapng, or a link type that is not known (pcap).
  /// Lifetime: `in` outlives the reader.
  static Result<PcapReader> open(std::istream& in);
  PcapReader(PcapReader&&) noexcept;
  PcapReader& operator=(PcapReader&&) noexcept;
  ~PcapReader();

  /// The next IP packet; empty: the end. Errors: the file is damaged, with the place; nothing can be read
  /// behind it. Memory: one block, at most 16 MiB; larger ones of kinds that are read are damage.
  Result<std::optional<CapturedPacket>> next();

  /// The secrets in the blocks so far.
  const KeyLog& keys() const;
  const CaptureCounts& counts() const;

  /// A format's part of the work. Internal.
  class Source;

 private:
  explicit PcapReader(std::unique_ptr<Source> source);
  std::unique_ptr<Source> source_;
};

}  // namespace doxlab::dissect
