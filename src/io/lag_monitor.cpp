#include "io/lag_monitor.hpp"

#include <algorithm>

namespace doxlab::io {

void LagMonitor::start() {
  {
    const std::lock_guard lock(mutex_);
    due_ = monotonic_now() + period_;
  }
  timer_.expires_at(due_);
  timer_.async_wait([this](const std::error_code& error) {
    if (!error) tick();
  });
}

void LagMonitor::tick() {
  late_.add(due_, monotonic_now());  // only this thread changes due_
  start();
}

Duration LagMonitor::max_lag(Timestamp from, Timestamp to) const {
  auto worst = late_.greatest(from, to);
  const std::lock_guard lock(mutex_);
  if (const auto now = monotonic_now(); due_ <= to && now > due_) worst = std::max(worst, Duration(now - due_));
  return worst;
}

}  // namespace doxlab::io
