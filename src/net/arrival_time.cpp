#include "net/arrival_time.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

namespace doxlab::net {
namespace {

/// A reading of both clocks that was interrupted takes longer than one that was not.
constexpr int kReadings = 3;

Duration time_of_day() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

TimeOfDay::TimeOfDay() {
  auto shortest = Duration::max();
  for (int i = 0; i < kReadings; ++i) {
    const auto before = monotonic_now();
    const auto now = time_of_day();
    const auto after = monotonic_now();
    if (after - before >= shortest) continue;
    shortest = after - before;
    to_monotonic_ = before.time_since_epoch() + shortest / 2 - now;
  }
}

std::optional<Timestamp> TimeOfDay::stamp_of(const msghdr& message) const {
  auto* const header = const_cast<msghdr*>(&message);
  for (auto* control = CMSG_FIRSTHDR(header); control != nullptr; control = CMSG_NXTHDR(header, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec stamp{};
    std::memcpy(&stamp, CMSG_DATA(control), sizeof stamp);
    if (stamp.tv_sec == 0 && stamp.tv_nsec == 0) return std::nullopt;
    return Timestamp(std::chrono::seconds(stamp.tv_sec) + std::chrono::nanoseconds(stamp.tv_nsec) + to_monotonic_);
  }
  return std::nullopt;
}

bool enable_arrival_times(int socket) {
  const int on = 1;
  return ::setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0;
}

ssize_t receive_stamped(int socket, std::span<std::uint8_t> buffer, Timestamp& when) {
  iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
  alignas(cmsghdr) std::array<std::byte, 256> control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const auto got = ::recvmsg(socket, &message, 0);
  const int error = errno;
  when = monotonic_now();
  if (got > 0)
    if (const auto stamp = TimeOfDay().stamp_of(message)) when = std::min(when, *stamp);
  errno = error;
  return got;
}

}  // namespace doxlab::net
