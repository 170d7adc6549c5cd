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

}  // namespace doxlab::io
