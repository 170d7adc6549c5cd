#include "transport/framing/framing.hpp"

namespace doxlab::transport {

Bytes frame(BytesView message) {
  Bytes framed;
  framed.reserve(kLengthPrefixOctets + message.size());
  framed.push_back(static_cast<std::uint8_t>(message.size() >> 8));
  framed.push_back(static_cast<std::uint8_t>(message.size()));
  framed.insert(framed.end(), message.begin(), message.end());
  return framed;
}

bool MessageReader::feed(BytesView stream) {
  if (stream.size() > limit_ - buffered()) return false;
  // What was handed out is cut off only when it is the larger part, so each octet moves a bounded number of times.
  if (start_ >= buffer_.size() - start_) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(start_));
    start_ = 0;
  }
  buffer_.insert(buffer_.end(), stream.begin(), stream.end());
  return true;
}

std::optional<std::size_t> MessageReader::next_length() const {
  if (buffered() < kLengthPrefixOctets) return std::nullopt;
  const std::size_t length = static_cast<std::size_t>(buffer_[start_]) << 8 | buffer_[start_ + 1];
  return buffered() - kLengthPrefixOctets < length ? std::nullopt : std::optional(length);
}

bool MessageReader::has_message() const { return next_length().has_value(); }

std::optional<Bytes> MessageReader::next() {
  const auto length = next_length();
  if (!length) return std::nullopt;
  const BytesView message = BytesView(buffer_).subspan(start_ + kLengthPrefixOctets, *length);
  start_ += kLengthPrefixOctets + *length;
  consumed_ += kLengthPrefixOctets + *length;
  return to_bytes(message);
}

}  // namespace doxlab::transport
