#pragma once
/// Octets and the two cursors that read and write them in network byte order. Every parser of wire
/// data in doxlab goes through ByteReader, so no parser can read past the end.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace doxlab {

using Bytes = std::vector<std::uint8_t>;
using BytesView = std::span<const std::uint8_t>;

/// Copies a view; the result owns its octets.
inline Bytes to_bytes(BytesView view) { return {view.begin(), view.end()}; }

/// The octets of a string, without a terminator. The view borrows from `text`.
inline BytesView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// The characters of a run of octets. The view borrows from `bytes`.
inline std::string_view as_text(BytesView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Lower-case hexadecimal, two digits an octet, no separators.
std::string to_hex(BytesView bytes);

/// Reads big-endian integers and runs from a borrowed buffer. The first read past the end makes the
/// reader fail for good: later reads return zeros or empty views, and `ok()` tells once at the end.
class ByteReader {
 public:
  explicit ByteReader(BytesView input) : input_(input) {}

  std::uint8_t u8() { return static_cast<std::uint8_t>(big_endian(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(big_endian(2)); }
  std::uint32_t u24() { return static_cast<std::uint32_t>(big_endian(3)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(big_endian(4)); }
  std::uint64_t u64() { return big_endian(8); }
  /// A QUIC variable-length integer (RFC 9000 §16).
  std::uint64_t varint();
  /// The next `length` octets; empty and failed if there are fewer. Borrows from the input.
  BytesView take(std::size_t length);
  void skip(std::size_t length) { take(length); }
  BytesView rest() { return take(remaining()); }

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return failed_ ? 0 : input_.size() - position_; }
  bool at_end() const { return remaining() == 0; }
  bool ok() const { return !failed_; }

 private:
  std::uint64_t big_endian(std::size_t width);

  BytesView input_;
  std::size_t position_ = 0;
  bool failed_ = false;
};

/// Appends big-endian integers and runs to an owned buffer.
class ByteWriter {
 public:
  void u8(std::uint8_t value) { out_.push_back(value); }
  void u16(std::uint16_t value);
  void u24(std::uint32_t value);
  void u32(std::uint32_t value);
  void u64(std::uint64_t value);
  void append(BytesView bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  std::size_t size() const { return out_.size(); }
  const Bytes& bytes() const { return out_; }
  Bytes take() { return std::move(out_); }

 private:
  Bytes out_;
};

}  // namespace doxlab
