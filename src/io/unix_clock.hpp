#pragma once
/// The time of day for sessions, which own no clock.

#include <chrono>

#include "base/time.hpp"
#include "transport/dnscrypt/options.hpp"

namespace doxlab::io {

/// Reads the system's clock once. What it is set to later is not followed.
inline transport::UnixClock unix_clock_now() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_1970).count();
  return {static_cast<dnscrypt::UnixSeconds>(seconds < 0 ? 0 : seconds), monotonic_now()};
}

/// What a monotonic timestamp lacks to count from 1970, as of now.
inline Duration wall_clock_offset() {
  const auto wall = std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch());
  return wall - monotonic_now().time_since_epoch();
}

}  // namespace doxlab::io
