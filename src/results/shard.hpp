#pragma once
/// A run split over processes or machines: each makes one part, `doxlab merge` joins them.

#include <cstdint>

namespace doxlab::results {

/// Part `index` of `of` equal parts, counted from 0. It has the items (samples of a loss run, cells of a
/// sweep) whose number leaves the remainder `index` when divided by `of`.
struct Shard {
  std::uint64_t index = 0, of = 1;

  bool has(std::uint64_t number) const { return number % of == index; }
  friend bool operator==(const Shard&, const Shard&) = default;
};

}  // namespace doxlab::results
