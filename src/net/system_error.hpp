#pragma once
/// How set-up failures of the kernel's calls are told: std::system_error whose text names the attempt.

#include <cerrno>
#include <string>
#include <system_error>

namespace doxlab::net {

/// Throws for the present errno. `attempt` says what was tried, for example "open /dev/net/tun".
[[noreturn]] inline void throw_errno(const std::string& attempt) {
  throw std::system_error(errno, std::generic_category(), attempt);
}

/// Passes a call's result through, or throws if it is negative.
inline int checked(int result, const char* attempt) {
  if (result < 0) throw_errno(attempt);
  return result;
}

}  // namespace doxlab::net
