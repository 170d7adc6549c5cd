#pragma once
/// DNS messages on a stream: each with its length in two octets in front (RFC 1035 §4.2.2; RFC 7858 §3.3 and
/// RFC 9250 §4.2 say the same). Used by Do53/TCP, DoT and DoQ.

#include <cstddef>
#include <limits>
#include <optional>

#include "base/bytes.hpp"

namespace doxlab::transport {

inline constexpr std::size_t kLengthPrefixOctets = 2;
inline constexpr std::size_t kMaxMessageOctets = 65'535;

/// Length and message in one run, so that they leave in one segment or record (RFC 7766 §8). The caller
/// guarantees at most kMaxMessageOctets.
Bytes frame(BytesView message);

/// Cuts a stream into messages, wherever it was cut on the way.
class MessageReader {
 public:
  /// Holds at most `limit` octets that next() has not handed out.
  explicit MessageReader(std::size_t limit = std::numeric_limits<std::size_t>::max()) : limit_(limit) {}

  /// Appends octets of the stream. False, and nothing kept, if that would exceed the limit.
  bool feed(BytesView stream);
  /// The next whole message, perhaps empty (length 0); nullopt: not here yet.
  std::optional<Bytes> next();
  bool has_message() const;
  /// Octets that wait, prefixes included: 0 where the stream may end.
  std::size_t buffered() const { return buffer_.size() - start_; }
  /// Octets of the stream before those that wait.
  std::size_t consumed() const { return consumed_; }

 private:
  std::optional<std::size_t> next_length() const;

  std::size_t limit_;
  Bytes buffer_;
  std::size_t start_ = 0;  // of what waits
  std::size_t consumed_ = 0;
};

}  // namespace doxlab::transport
