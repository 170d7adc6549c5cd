#pragma once
/// The one clock of doxlab: CLOCK_MONOTONIC in nanoseconds. Sessions and link models never read it;
/// they are given a Timestamp, so tests run them in virtual time.

#include <chrono>
#include <cstdint>

namespace doxlab {

using Duration = std::chrono::nanoseconds;
using Timestamp = std::chrono::time_point<std::chrono::steady_clock, Duration>;
using namespace std::chrono_literals;

/// Now. Only `net`, `io`, `lab` and the programs above them call this.
inline Timestamp monotonic_now() { return std::chrono::steady_clock::now(); }

/// Nanoseconds since the clock's own epoch, as ngtcp2 and packet records want it.
inline std::uint64_t to_ns(Timestamp t) { return static_cast<std::uint64_t>(t.time_since_epoch().count()); }

inline Timestamp from_ns(std::uint64_t ns) { return Timestamp{Duration{static_cast<std::int64_t>(ns)}}; }

/// Milliseconds with fraction, for people and JSON.
inline double to_ms(Duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

/// The nearest whole nanosecond of a number of milliseconds.
inline Duration from_ms(double ms) { return Duration{static_cast<std::int64_t>(ms * 1e6 + (ms < 0 ? -0.5 : 0.5))}; }

}  // namespace doxlab
