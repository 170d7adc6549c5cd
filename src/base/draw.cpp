#include "base/draw.hpp"

#include <array>

namespace doxlab {
namespace {

using Counter = std::array<std::uint32_t, 4>;

// Multipliers and Weyl increments as published for Philox-4x32.
constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;

Counter philox(Counter c, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * c[0];
    const std::uint64_t product1 = kMultiplier1 * c[2];
    c = {static_cast<std::uint32_t>(product1 >> 32) ^ c[1] ^ key0, static_cast<std::uint32_t>(product1),
         static_cast<std::uint32_t>(product0 >> 32) ^ c[3] ^ key1, static_cast<std::uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return c;
}

}  // namespace

std::uint64_t draw_bits(const DrawCoordinates& at) {
  // The counter holds 128 bits: sample 56, purpose 7, direction 1, index 64.
  const std::uint64_t place = (at.sample << 8) | (static_cast<std::uint64_t>(at.purpose) << 1) | (at.direction & 1);
  const auto out = philox({static_cast<std::uint32_t>(at.index), static_cast<std::uint32_t>(at.index >> 32),
                           static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32)},
                          static_cast<std::uint32_t>(at.seed), static_cast<std::uint32_t>(at.seed >> 32));
  return (static_cast<std::uint64_t>(out[1]) << 32) | out[0];
}

double draw_unit(const DrawCoordinates& at) { return static_cast<double>(draw_bits(at) >> 11) * 0x1.0p-53; }

}  // namespace doxlab
