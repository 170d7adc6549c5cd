#include "dissect/tiler.hpp"

#include <algorithm>

namespace doxlab::dissect {
namespace {

bool goes_on(const Tile& tile, const Label& label, bool repeated) {
  return tile.kind == label.kind && tile.unit == label.unit && tile.frame == label.frame &&
         tile.item == label.item && tile.part == label.part && tile.repeated == repeated &&
         (label.item == kNone || tile.item_offset + tile.length == label.item_offset);
}

}  // namespace

void Tiler::put(const Label& label, std::uint32_t length, bool repeated) {
  if (length == 0) return;
  if (!tiles_.empty() && goes_on(tiles_.back(), label, repeated)) {
    tiles_.back().length += length;
  } else {
    Tile tile;
    static_cast<Label&>(tile) = label;
    tile.offset = at_;
    tile.length = length;
    tile.repeated = repeated;
    tiles_.push_back(tile);
  }
  at_ += length;
}

void Tiler::put_stream(const Layout& layout, ByteRange range, const std::vector<ByteRange>& repeated,
                       const Label& fallback) {
  auto old = repeated.begin();
  layout.slice(range, fallback, [&](std::uint64_t begin, std::uint64_t end, Label label) {
    if (fallback.unit != kNone) label.unit = fallback.unit;
    if (fallback.frame != kNone) label.frame = fallback.frame;
    const auto first = begin, first_offset = std::uint64_t{label.item_offset};
    while (begin < end) {
      while (old != repeated.end() && old->end <= begin) ++old;
      const bool is_old = old != repeated.end() && old->begin <= begin;
      const auto until = old == repeated.end() ? end : std::min(end, is_old ? old->end : old->begin);
      if (label.item != kNone) label.item_offset = static_cast<std::uint32_t>(first_offset + (begin - first));
      put(label, static_cast<std::uint32_t>(until - begin), is_old);
      begin = until;
    }
  });
}

void Tiler::finish(std::uint32_t captured, std::uint32_t total) {
  while (!tiles_.empty() && tiles_.back().offset >= captured) tiles_.pop_back();
  if (!tiles_.empty() && tiles_.back().offset + tiles_.back().length > captured)
    tiles_.back().length = captured - tiles_.back().offset;
  at_ = tiles_.empty() ? 0 : tiles_.back().offset + tiles_.back().length;
  put_until(captured, {.kind = TileKind::Unreadable});
  put_until(total, {.kind = TileKind::NotCaptured});
}

}  // namespace doxlab::dissect
