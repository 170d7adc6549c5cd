#pragma once
/// Octets from hexadecimal text, for the tests of this room.

#include <string_view>

#include "base/bytes.hpp"

namespace doxlab::dissect::test {

inline Bytes from_hex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Bytes out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out.push_back(static_cast<std::uint8_t>(digit(text[i]) * 16 + digit(text[i + 1])));
  return out;
}

}  // namespace doxlab::dissect::test
