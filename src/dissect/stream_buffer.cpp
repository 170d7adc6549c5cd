#include "dissect/stream_buffer.hpp"

#include <algorithm>

namespace doxlab::dissect {

std::vector<ByteRange> StreamBuffer::add(std::uint64_t offset, BytesView bytes, std::uint32_t owner) {
  const ByteRange range{offset, offset + bytes.size()};
  if (range.end < range.begin) return {};
  end_ = std::max(end_, range.end);
  auto fresh = sent_.claim(range, owner);
  if (range.end > bytes_.size()) {
    const auto growth = range.end - bytes_.size();
    if (growth > budget_->left) return fresh;
    budget_->left -= growth;
    bytes_.resize(range.end);
  }
  for (const auto& part : kept_.claim(range, 0))
    std::copy_n(bytes.data() + (part.begin - offset), part.length(), bytes_.data() + part.begin);
  return fresh;
}

std::vector<ByteRange> StreamBuffer::add_missing(ByteRange range, std::uint32_t owner) {
  if (range.begin >= range.end) return {};
  end_ = std::max(end_, range.end);
  return sent_.claim(range, owner);
}

BytesView StreamBuffer::prefix() const {
  return BytesView(bytes_).first(kept_.covered_until(0));
}

BytesView StreamBuffer::view(ByteRange range) const {
  if (range.end < range.begin || range.end > bytes_.size() || !kept_.covers(range)) return {};
  return BytesView(bytes_).subspan(range.begin, range.length());
}

}  // namespace doxlab::dissect
