#include "io/lag_monitor.hpp"

#include <algorithm>

namespace doxlab::io {
namespace {

constexpr auto kWorthTelling = 500us;
constexpr auto kKept = 10s;

}  // namespace

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
  const auto now = monotonic_now();
  {
    const std::lock_guard lock(mutex_);
    if (now - due_ > kWorthTelling) late_.push_back({due_, now - due_});
    while (!late_.empty() && late_.front().due + kKept < now) late_.pop_front();
  }
  start();
}

Duration LagMonitor::max_lag(Timestamp from, Timestamp to) const {
  const std::lock_guard lock(mutex_);
  Duration worst{};
  for (const auto& late : late_)
    if (late.due <= to && late.due + late.lag >= from) worst = std::max(worst, late.lag);
  if (const auto now = monotonic_now(); due_ <= to && now > due_) worst = std::max(worst, Duration(now - due_));
  return worst;
}

}  // namespace doxlab::io
