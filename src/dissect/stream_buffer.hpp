#pragma once
/// One direction of a stream put together from pieces in any order: TCP's segments, QUIC's CRYPTO and STREAM
/// frames. The first copy of an octet stays; later ones are told apart as repeated.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "dissect/ranges.hpp"

namespace doxlab::dissect {

/// Octets that the streams of one dissection may still keep. What does not fit is not kept, and so is not
/// dissected; nothing fails.
struct MemoryBudget {
  std::size_t left = std::size_t{64} << 20;
};

class StreamBuffer {
 public:
  /// Lifetime: the budget outlives the buffer.
  explicit StreamBuffer(MemoryBudget& budget) : budget_(&budget) {}

  /// Keeps `bytes` at `offset`, sent by `owner`. Returns the ranges that came for the first time.
  std::vector<ByteRange> add(std::uint64_t offset, BytesView bytes, std::uint32_t owner);
  /// Counts octets as sent that are not at hand: cut off by the capture.
  std::vector<ByteRange> add_missing(ByteRange range, std::uint32_t owner);

  /// The octets from the start to the first that is missing. Borrows until the next add().
  BytesView prefix() const;
  /// The octets of a range; empty if one of them is missing. Borrows until the next add().
  BytesView view(ByteRange range) const;
  /// Where the last octet that was sent ends, kept or not.
  std::uint64_t end() const { return end_; }
  /// Who sent each octet first.
  const RangeOwners& sent() const { return sent_; }

 private:
  MemoryBudget* budget_;
  Bytes bytes_;  // holes are zeros
  RangeOwners sent_, kept_;
  std::uint64_t end_ = 0;
};

}  // namespace doxlab::dissect
