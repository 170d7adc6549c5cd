#pragma once
/// What the readers of pcap and pcapng share: numbers in either byte order from a stream that may end
/// anywhere. Internal.

#include <istream>
#include <memory>

#include "dissect/pcap_reader.hpp"

namespace doxlab::dissect {

inline constexpr std::uint32_t kMaxBlockBytes = 16 << 20;

/// Reads from a buffer in the file's byte order. The first read past the end makes it fail for good.
class FileReader {
 public:
  FileReader(BytesView input, bool is_little_endian) : in_(input), is_little_(is_little_endian) {}
  std::uint16_t u16() {
    const auto value = in_.u16();
    return is_little_ ? static_cast<std::uint16_t>(value >> 8 | value << 8) : value;
  }
  std::uint32_t u32() {
    const std::uint32_t first = u16(), second = u16();
    return is_little_ ? second << 16 | first : first << 16 | second;
  }
  std::uint64_t u64() {
    const std::uint64_t first = u32(), second = u32();
    return is_little_ ? second << 32 | first : first << 32 | second;
  }
  BytesView take(std::size_t length) { return in_.take(length); }
  void skip(std::size_t length) { in_.skip(length); }
  std::size_t remaining() const { return in_.remaining(); }
  bool ok() const { return in_.ok(); }

 private:
  ByteReader in_;
  bool is_little_;
};

/// A packet before its link header is taken off.
struct CapturedFrame {
  LinkType link = LinkType::Raw;
  BytesView bytes;
  std::uint32_t wire_bytes = 0;
  CapturedPacket packet;  ///< what is known of it besides
};

class PcapReader::Source {
 public:
  explicit Source(std::istream& in) : in_(in) {}
  virtual ~Source() = default;
  /// The next frame of any kind; empty: the end. Views are valid until the next call.
  virtual Result<std::optional<CapturedFrame>> next() = 0;

  KeyLog keys;
  CaptureCounts counts;

 protected:
  /// Reads `length` octets behind `kept` ones that stay in the buffer. False: the file ends before; then
  /// counts.ends_early is set unless not one octet was there.
  bool fill(std::size_t length, std::size_t kept = 0);
  /// Passes over octets without reading them into memory.
  void skip(std::uint64_t length);
  /// An error that says where.
  std::unexpected<Error> damaged(std::string_view what) const;

  std::istream& in_;
  Bytes buffer_;
  std::uint64_t position_ = 0;  // in the file
};

/// `magic`: the first four octets, which have been read.
Result<std::unique_ptr<PcapReader::Source>> open_pcap(std::istream& in, BytesView magic);
Result<std::unique_ptr<PcapReader::Source>> open_pcapng(std::istream& in);

}  // namespace doxlab::dissect
