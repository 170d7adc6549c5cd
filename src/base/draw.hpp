#pragma once
/// Counter-based random draws: a value is a pure function of its coordinates, so it depends neither on
/// the order in which packets happen to be seen nor on how many lookups run at once.

#include <cstdint>

namespace doxlab {

/// What a draw decides. Different purposes at the same packet are independent.
enum class DrawPurpose : std::uint32_t { Loss, BurstState, Reorder, Duplicate, Corrupt, CorruptedBit, DelayVariation };

/// The coordinates of a draw. `direction` is 0 towards the server, 1 towards the client; `index` counts
/// the packets of one sample in one direction from 0.
struct DrawCoordinates {
  std::uint64_t seed = 0;
  std::uint64_t sample = 0;
  std::uint32_t direction = 0;
  std::uint64_t index = 0;
  DrawPurpose purpose = DrawPurpose::Loss;
};

/// 64 uniform bits. Philox-4x32 with ten rounds (Salmon et al., SC 2011): key = seed, counter = the rest.
std::uint64_t draw_bits(const DrawCoordinates& at);

/// A uniform number in [0, 1) with 53 random bits.
double draw_unit(const DrawCoordinates& at);

}  // namespace doxlab
