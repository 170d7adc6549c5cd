#pragma once
/// Lays tiles side by side over one packet. Internal.

#include <vector>

#include "dissect/tile.hpp"

namespace doxlab::dissect {

class Tiler {
 public:
  explicit Tiler(std::vector<Tile>& tiles) : tiles_(tiles) {}

  std::uint32_t position() const { return at_; }
  /// The next `length` octets. Joins the tile before if they go on where it ends.
  void put(const Label& label, std::uint32_t length, bool repeated = false);
  /// All octets up to `end`, an offset in the packet; nothing if they have been named.
  void put_until(std::uint32_t end, const Label& label) {
    if (end > at_) put(label, end - at_);
  }
  /// A piece of a stream, whose first octet is the next one here: the names of its layout, cut also where
  /// octets that were sent before begin and end. `unit` and `frame` replace those of the labels unless kNone.
  void put_stream(const Layout& layout, ByteRange range, const std::vector<ByteRange>& repeated,
                  const Label& fallback);
  /// Names what lies behind `captured` as not captured, and fills up to `total`.
  void finish(std::uint32_t captured, std::uint32_t total);

 private:
  std::vector<Tile>& tiles_;
  std::uint32_t at_ = 0;
};

}  // namespace doxlab::dissect
