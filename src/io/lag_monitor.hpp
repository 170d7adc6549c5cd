#pragma once
/// How late an event loop is: a timer that ticks inside it and notes how much after its time it was run. A
/// lookup whose loop was late was measured by a machine that had no time for it.

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <mutex>

#include "base/late_times.hpp"

namespace doxlab::io {

class LagMonitor {
 public:
  /// Ticks every `period` once start() was called; the io_context outlives the monitor.
  LagMonitor(asio::io_context& context, Duration period) : timer_(context), period_(period) {}

  /// In the loop's thread, or before it runs.
  void start();

  /// The greatest lag of the ticks due in [from, to], from any thread. The last twenty seconds are kept; a tick
  /// that is due and has not run yet counts as late as it is.
  Duration max_lag(Timestamp from, Timestamp to) const;

 private:
  void tick();

  asio::steady_timer timer_;
  Duration period_;
  mutable std::mutex mutex_;
  Timestamp due_{};
  LateTimes late_;
};

}  // namespace doxlab::io
