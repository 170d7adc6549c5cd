#include "base/bytes.hpp"

namespace doxlab {

std::string to_hex(BytesView bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (auto octet : bytes) {
    out.push_back(kDigits[octet >> 4]);
    out.push_back(kDigits[octet & 15]);
  }
  return out;
}

std::uint64_t ByteReader::varint() {
  const auto first = u8();
  if (failed_) return 0;
  std::uint64_t value = first & 0x3f;
  for (int more = (1 << (first >> 6)) - 1; more > 0; --more) value = (value << 8) | u8();
  return failed_ ? 0 : value;
}

BytesView ByteReader::take(std::size_t length) {
  if (failed_ || length > input_.size() - position_) {
    failed_ = true;
    return {};
  }
  const auto out = input_.subspan(position_, length);
  position_ += length;
  return out;
}

std::uint64_t ByteReader::big_endian(std::size_t width) {
  std::uint64_t value = 0;
  for (auto octet : take(width)) value = (value << 8) | octet;
  return value;
}

void ByteWriter::u16(std::uint16_t value) {
  u8(static_cast<std::uint8_t>(value >> 8));
  u8(static_cast<std::uint8_t>(value));
}

void ByteWriter::u24(std::uint32_t value) {
  u8(static_cast<std::uint8_t>(value >> 16));
  u16(static_cast<std::uint16_t>(value));
}

void ByteWriter::u32(std::uint32_t value) {
  u16(static_cast<std::uint16_t>(value >> 16));
  u16(static_cast<std::uint16_t>(value));
}

void ByteWriter::u64(std::uint64_t value) {
  u32(static_cast<std::uint32_t>(value >> 32));
  u32(static_cast<std::uint32_t>(value));
}

}  // namespace doxlab
