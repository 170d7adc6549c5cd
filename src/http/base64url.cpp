#include <array>
#include <format>

#include "http/doh.hpp"

namespace doxlab::http {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t kInvalid = 0xff;

constexpr auto kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kInvalid);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<std::uint8_t>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}();

}  // namespace

std::string base64url_encode(BytesView bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  int count = 0;
  for (std::uint8_t octet : bytes) {
    bits = bits << 8 | octet;
    for (count += 8; count >= 6; count -= 6) text += kAlphabet[bits >> (count - 6) & 63];
  }
  if (count > 0) text += kAlphabet[bits << (6 - count) & 63];
  return text;
}

Result<Bytes> base64url_decode(std::string_view text) {
  if (text.size() % 4 == 1) return fail("impossible base64url length");
  Bytes bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint8_t value = kValues[static_cast<std::uint8_t>(text[i])];
    if (value == kInvalid) {
      return fail(text[i] == '=' ? std::string("padding in base64url")
                                 : std::format("not base64url at character {}", i));
    }
    bits = bits << 6 | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::uint8_t>(bits >> count));
  }
  // Otherwise one message would have several spellings, each its own entry in an HTTP cache.
  if ((bits & ((1u << count) - 1)) != 0) return fail("nonzero trailing bits in base64url");
  return bytes;
}

}  // namespace doxlab::http
