#pragma once
/// When something that had a time ran later than that, and by how much. For judging afterwards whether a moment fell
/// into a stall of the machine.

#include <algorithm>
#include <deque>
#include <mutex>

#include "base/time.hpp"

namespace doxlab {

/// Any thread may use it. Keeps the last twenty seconds, and nothing below half a millisecond.
class LateTimes {
 public:
  void add(Timestamp due, Timestamp ran) {
    if (ran - due <= kWorthTelling) return;
    const std::lock_guard lock(mutex_);
    late_.push_back({due, ran});
    while (late_.front().due + kKept < ran) late_.pop_front();
  }

  /// The greatest lateness of what was due by `to` and had not run before `from`.
  Duration greatest(Timestamp from, Timestamp to) const {
    const std::lock_guard lock(mutex_);
    Duration worst{};
    for (const auto& late : late_)
      if (late.due <= to && late.ran >= from) worst = std::max<Duration>(worst, late.ran - late.due);
    return worst;
  }

 private:
  static constexpr Duration kWorthTelling = 500us, kKept = 20s;
  struct Late {
    Timestamp due, ran;
  };
  mutable std::mutex mutex_;
  std::deque<Late> late_;
};

}  // namespace doxlab
