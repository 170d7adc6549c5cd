#pragma once
/// The one message that a DoQ stream carries in each direction (RFC 9250 §4.2).

#include "base/bytes.hpp"

namespace doxlab::transport {

/// Collects a length-prefixed message from runs of stream bytes with any cut.
class StreamMessage {
 public:
  /// Returns false if bytes follow the end of the message.
  bool append(BytesView data) {
    received_.insert(received_.end(), data.begin(), data.end());
    return received_.size() < 2 || received_.size() <= 2 + announced();
  }

  bool is_whole() const { return received_.size() >= 2 && received_.size() == 2 + announced(); }
  std::size_t buffered_bytes() const { return received_.size(); }

  /// The message without its length; leaves nothing behind. The caller has asked is_whole().
  Bytes take() {
    Bytes message(received_.begin() + 2, received_.end());
    received_ = {};
    return message;
  }

 private:
  std::size_t announced() const { return static_cast<std::size_t>(received_[0]) << 8 | received_[1]; }

  Bytes received_;
};

/// A message of at most 65,535 octets with its length in front and its ID set to 0 (RFC 9250 §4.2.1).
inline Bytes doq_frame(BytesView message) {
  Bytes out;
  out.reserve(2 + message.size());
  out.push_back(static_cast<std::uint8_t>(message.size() >> 8));
  out.push_back(static_cast<std::uint8_t>(message.size()));
  out.insert(out.end(), message.begin(), message.end());
  if (out.size() >= 4) out[2] = out[3] = 0;
  return out;
}

}  // namespace doxlab::transport
