#pragma once
/// Packets put together by hand for the tests of this room.

#include <array>

#include "base/bytes.hpp"

namespace doxlab::capture::test {

inline Bytes concatenated(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline Bytes udp(const Bytes& payload, std::uint16_t source = 40000, std::uint16_t destination = 53) {
  ByteWriter out;
  out.u16(source);
  out.u16(destination);
  out.u16(static_cast<std::uint16_t>(8 + payload.size()));
  out.u16(0);
  out.append(payload);
  return out.take();
}

/// `options` is a multiple of four octets.
inline Bytes tcp(std::uint8_t flags, const Bytes& options, const Bytes& payload) {
  ByteWriter out;
  out.u16(40000);
  out.u16(853);
  out.u32(1);
  out.u32(2);
  out.u8(static_cast<std::uint8_t>((5 + options.size() / 4) << 4));
  out.u8(flags);
  out.u16(65535);
  out.u32(0);
  out.append(options);
  out.append(payload);
  return out.take();
}

/// 10.66.1.1 to 10.66.0.1; the header checksum is right only for an empty one, which nobody here checks.
inline Bytes ipv4(std::uint8_t protocol, const Bytes& payload, const Bytes& options = {},
                  std::uint16_t fragment = 0) {
  ByteWriter out;
  out.u8(static_cast<std::uint8_t>(0x45 + options.size() / 4));
  out.u8(0);
  out.u16(static_cast<std::uint16_t>(20 + options.size() + payload.size()));
  out.u16(1);
  out.u16(fragment);
  out.u8(64);
  out.u8(protocol);
  out.u16(0);
  out.append(Bytes{10, 66, 1, 1, 10, 66, 0, 1});
  out.append(options);
  out.append(payload);
  return out.take();
}

/// fd66:1::1 to fd66::1.
inline Bytes ipv6(std::uint8_t next_header, const Bytes& payload) {
  ByteWriter out;
  out.u32(0x60000000);
  out.u16(static_cast<std::uint16_t>(payload.size()));
  out.u8(next_header);
  out.u8(64);
  out.append(Bytes{0xfd, 0x66, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  out.append(Bytes{0xfd, 0x66, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  out.append(payload);
  return out.take();
}

}  // namespace doxlab::capture::test
