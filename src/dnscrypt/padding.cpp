#include "dnscrypt/padding.hpp"

#include <algorithm>

namespace doxlab::dnscrypt {
namespace {

constexpr std::uint8_t kMark = 0x80;

/// The smallest multiple of 64 that holds `octets`.
constexpr std::size_t whole_blocks(std::size_t octets) {
  return (octets + kPaddingBlockOctets - 1) / kPaddingBlockOctets * kPaddingBlockOctets;
}

}  // namespace

Bytes pad(BytesView message, std::size_t size) {
  Bytes padded;
  padded.reserve(size);
  padded.assign(message.begin(), message.end());
  padded.push_back(kMark);
  padded.resize(std::max(size, padded.size()));
  return padded;
}

std::optional<BytesView> unpad(BytesView padded) {
  std::size_t end = padded.size();
  while (end > 0 && padded[end - 1] == 0) --end;
  if (end == 0 || padded[end - 1] != kMark) return std::nullopt;
  return padded.first(end - 1);
}

std::size_t udp_query_size(std::size_t message_octets, std::size_t min_query_octets) {
  return whole_blocks(std::max(message_octets + 1, min_query_octets));
}

std::size_t tcp_query_size(std::size_t message_octets, std::uint8_t random) {
  return whole_blocks(message_octets + 1) + (random & 3u) * kPaddingBlockOctets;
}

std::size_t response_size(std::size_t message_octets, std::size_t limit, std::uint8_t choice) {
  std::size_t size = whole_blocks(message_octets + 1);
  if (size > limit) return limit;
  for (unsigned extra = choice & 3u; extra > 0 && size + kPaddingBlockOctets <= limit; --extra) {
    size += kPaddingBlockOctets;
  }
  return size;
}

}  // namespace doxlab::dnscrypt
