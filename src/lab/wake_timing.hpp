#pragma once
/// When to set the alarm for a packet. The kernel wakes a thread some tens of microseconds after its timer
/// (virtual machines longer), so the alarm is set earlier by what waking usually takes, and the rest, mostly
/// none, is spun away. Spinning is rationed: it never takes more than a tenth of a core.

#include <algorithm>

#include "base/time.hpp"

namespace doxlab::lab {

class WakeTiming {
 public:
  /// The time for the alarm: before `due` by the lead where that is still ahead, else `due` itself.
  Timestamp alarm_for(Timestamp due, Timestamp now) const {
    const auto early = due - lead_;
    return allowance_ >= lead_ && early > now ? early : due;
  }

  /// Learns from one alarm. The lead follows the first quartile of the time to wake, so that a fourth of the
  /// alarms come early and are followed by a short spin.
  void woke(Timestamp alarm, Timestamp now) {
    lead_ += now - alarm < lead_ ? -3 * kStep : kStep;
    lead_ = std::clamp(lead_, Duration::zero(), kLongestLead);
  }

  /// Whether the thread may spin from `now` to `due`; if so, that time is charged.
  bool may_spin(Timestamp now, Timestamp due) {
    allowance_ = std::min<Duration>(allowance_ + (now - refilled_) / 10, kLargestAllowance);
    refilled_ = now;
    const auto time = due - now;
    if (time > lead_ || time > allowance_) return false;
    allowance_ -= time;
    return true;
  }

  Duration lead() const { return lead_; }

 private:
  static constexpr Duration kStep = 250ns;
  static constexpr Duration kLongestLead = 100us;
  static constexpr Duration kLargestAllowance = 2ms;

  Duration lead_ = 20us;
  Duration allowance_ = kLargestAllowance;
  Timestamp refilled_{};
};

}  // namespace doxlab::lab
