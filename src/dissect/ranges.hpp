#pragma once
/// Runs of octets of a stream, and who was the first at each of them. Streams are dissected twice over it: in
/// order of sending (what comes again is a retransmission) and in order of arrival (who delivered an octet).

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace doxlab::dissect {

/// The octets from `begin` up to, not including, `end`.
struct ByteRange {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t length() const { return end - begin; }
  bool operator==(const ByteRange&) const = default;
};

/// Gives each octet of a stream to the first who claims it. Memory: at most two entries a claim.
class RangeOwners {
 public:
  struct Owned {
    ByteRange range;
    std::uint32_t owner = 0;
    bool operator==(const Owned&) const = default;
  };

  /// Gives the octets of `range` that have no owner yet to `owner` and returns them, in order.
  std::vector<ByteRange> claim(ByteRange range, std::uint32_t owner);
  /// True if every octet of `range` has an owner.
  bool covers(ByteRange range) const;
  /// The end of the run of owned octets that begins at `begin`; `begin` itself if it has no owner.
  std::uint64_t covered_until(std::uint64_t begin) const;
  /// All octets that have an owner, in order; neighbours have different owners or a hole between them.
  std::vector<Owned> all() const;

 private:
  struct Entry {
    std::uint64_t end = 0;
    std::uint32_t owner = 0;
  };
  std::map<std::uint64_t, Entry> entries_;  // by begin
};

/// The parts of `range` that are not in `fresh`, which is sorted and lies within `range`.
std::vector<ByteRange> rest_of(ByteRange range, const std::vector<ByteRange>& fresh);

}  // namespace doxlab::dissect
