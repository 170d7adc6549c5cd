#include "dissect/ranges.hpp"

#include <algorithm>

namespace doxlab::dissect {

std::vector<ByteRange> RangeOwners::claim(ByteRange range, std::uint32_t owner) {
  std::vector<ByteRange> fresh;
  auto next = entries_.upper_bound(range.begin);
  auto at = range.begin;
  if (next != entries_.begin()) at = std::max(at, std::prev(next)->second.end);
  while (at < range.end) {
    const auto gap_end = next == entries_.end() ? range.end : std::min(range.end, next->first);
    if (at < gap_end) {
      fresh.push_back({at, gap_end});
      entries_.emplace_hint(next, at, Entry{gap_end, owner});
    }
    if (next == entries_.end()) break;
    at = std::max(at, next->second.end);
    ++next;
  }
  return fresh;
}

std::uint64_t RangeOwners::covered_until(std::uint64_t begin) const {
  auto next = entries_.upper_bound(begin);
  auto at = begin;
  if (next != entries_.begin()) at = std::max(at, std::prev(next)->second.end);
  if (at == begin) return begin;
  for (; next != entries_.end() && next->first == at; ++next) at = next->second.end;
  return at;
}

bool RangeOwners::covers(ByteRange range) const {
  return range.begin == range.end || covered_until(range.begin) >= range.end;
}

std::vector<RangeOwners::Owned> RangeOwners::all() const {
  std::vector<Owned> out;
  for (const auto& [begin, entry] : entries_) {
    if (!out.empty() && out.back().range.end == begin && out.back().owner == entry.owner)
      out.back().range.end = entry.end;
    else
      out.push_back({{begin, entry.end}, entry.owner});
  }
  return out;
}

std::vector<ByteRange> rest_of(ByteRange range, const std::vector<ByteRange>& fresh) {
  std::vector<ByteRange> rest;
  auto at = range.begin;
  for (const auto& part : fresh) {
    if (at < part.begin) rest.push_back({at, part.begin});
    at = part.end;
  }
  if (at < range.end) rest.push_back({at, range.end});
  return rest;
}

}  // namespace doxlab::dissect
