#pragma once
/// Spreads bulk data over the round trip (RFC 9002 §7.7) without delaying a lookup: a bucket as large as the
/// initial window is always free for bursts, and refills at 1.25 congestion windows a smoothed RTT.
/// (ngtcp2's own pacing waits after each single packet, which would delay an answer that comes a moment
/// after a session ticket.) Private to the room.

#include <algorithm>
#include <cstdint>
#include <optional>

namespace doxlab::quic::internal {

class Pacer {
 public:
  explicit Pacer(std::size_t datagram_bytes)
      : capacity_(10.0 * static_cast<double>(datagram_bytes)), tokens_(capacity_) {}

  /// Times in nanoseconds. Empty: send now. Else: the time from which the next datagram may be sent.
  std::optional<std::uint64_t> blocked_until(std::uint64_t now, std::uint64_t window_bytes,
                                             std::uint64_t rtt_ns) {
    const double rate =
        1.25 * static_cast<double>(window_bytes) / static_cast<double>(std::max<std::uint64_t>(rtt_ns, 1));
    tokens_ = std::min(capacity_, tokens_ + rate * static_cast<double>(now - refilled_));
    refilled_ = now;
    if (tokens_ >= 0) return std::nullopt;
    return now + static_cast<std::uint64_t>(-tokens_ / std::max(rate, 1e-9)) + 1;
  }
  /// A quick answer for the common case: no need to know rate and time.
  bool has_burst_left() const { return tokens_ > 0.5 * capacity_; }
  void sent(std::size_t bytes) { tokens_ -= static_cast<double>(bytes); }

 private:
  double capacity_;
  double tokens_;
  std::uint64_t refilled_ = 0;
};

}  // namespace doxlab::quic::internal
