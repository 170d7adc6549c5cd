#include "quic/send_buffer.hpp"

#include <algorithm>

namespace doxlab::quic::internal {

void SendBuffer::append(BytesView data, bool fin) {
  if (fin_) return;
  if (!data.empty()) {
    chunks_.push_back(doxlab::to_bytes(data));
    end_ += data.size();
  }
  fin_ = fin;
}

SendBuffer::Unsent SendBuffer::unsent(std::span<ngtcp2_vec> out) const {
  Unsent result;
  std::size_t skip = sent_in_chunk_;
  std::size_t index = sent_chunk_;
  for (; index < chunks_.size() && result.pieces < out.size(); ++index) {
    const Bytes& chunk = chunks_[index];
    // ngtcp2 only reads what it is pointed at; its type lacks the const.
    out[result.pieces++] = {const_cast<std::uint8_t*>(chunk.data()) + skip, chunk.size() - skip};
    result.bytes += chunk.size() - skip;
    skip = 0;
  }
  result.fin = fin_ && index == chunks_.size();
  return result;
}

void SendBuffer::mark_sent(std::uint64_t bytes, bool fin) {
  sent_ += bytes;
  fin_sent_ = fin_sent_ || fin;
  while (bytes > 0) {
    const std::uint64_t here = chunks_[sent_chunk_].size() - sent_in_chunk_;
    if (bytes < here) {
      sent_in_chunk_ += static_cast<std::size_t>(bytes);
      return;
    }
    bytes -= here;
    ++sent_chunk_;
    sent_in_chunk_ = 0;
  }
}

void SendBuffer::acknowledge(std::uint64_t offset) {
  offset = std::min(offset, sent_);
  while (!chunks_.empty() && start_ + chunks_.front().size() <= offset) {
    start_ += chunks_.front().size();
    chunks_.pop_front();
    --sent_chunk_;
  }
}

void SendBuffer::rewind() {
  sent_ = start_;
  sent_chunk_ = 0;
  sent_in_chunk_ = 0;
  fin_sent_ = false;
}

}  // namespace doxlab::quic::internal
