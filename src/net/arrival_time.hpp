#pragma once
/// When the kernel got or sent a packet, in doxlab's own clock. Kernels stamp packets with the time of day (socket(7), SO_TIMESTAMPNS).

#include <sys/socket.h>

#include <optional>
#include <span>

#include "base/time.hpp"

namespace doxlab::net {

/// What turns the time of day into the clock of base/time.hpp, as both stand now: exact to some microseconds. A step of the
/// time of day shifts it, so one is not kept for long.
class TimeOfDay {
 public:
  TimeOfDay();
  /// Of a control message SCM_TIMESTAMPNS; empty if the message has none.
  std::optional<Timestamp> stamp_of(const msghdr& message) const;

 private:
  Duration to_monotonic_{};
};

/// Has the kernel stamp what the socket receives. False if it refuses.
bool enable_arrival_times(int socket);

/// As recv(2), never waiting longer than the socket does. `when`: the arrival that the kernel noted, of the last octet over TCP;
/// now, where it noted none or one that is yet to come.
ssize_t receive_stamped(int socket, std::span<std::uint8_t> buffer, Timestamp& when);

}  // namespace doxlab::net
