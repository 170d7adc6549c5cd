#pragma once
/// Why an end waited before it sent a packet: which timer ran, if any. Internal.

#include <optional>
#include <span>
#include <vector>

#include "trace/causes.hpp"

namespace doxlab::trace {

/// A wait on the critical path.
struct Wait {
  Timestamp begin;                      ///< the start, or the delivery of `before`
  std::uint32_t packet = 0;             ///< what was sent at its end
  std::optional<std::uint32_t> before;  ///< the last packet that its sender had received
  bool is_timeout = false;              ///< the wait is known to be for a timer: see timed_out()
};

struct WaitCause {
  SpanKind kind = SpanKind::Computing;  ///< Computing, ThinkTime, Timer or Unexplained
  std::optional<Timer> timer;
  std::optional<std::uint32_t> acknowledgement;  ///< ThinkTime: the packet that told that what was waited for had arrived
};

WaitCause classify_wait(const dissect::Dissection& dissection, std::span<const dissect::ObservedPacket> packets,
                        const std::vector<Carried>& carried, const Wait& wait, Duration round_trip);

}  // namespace doxlab::trace
