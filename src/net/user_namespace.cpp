#include "net/user_namespace.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <format>
#include <stdexcept>
#include <string>

#include "net/file_descriptor.hpp"

namespace doxlab::net {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  const std::string reason =
      errno == EINVAL ? "the process already has several threads" : std::strerror(errno);
  throw std::runtime_error(
      what + ": " + reason +
      "; run as root, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
      "kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces above 0; never below "
      "chroot)");
}

void write_map(const char* path, const std::string& text) {
  const FileDescriptor fd(::open(path, O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    refuse("become root of a user namespace");
}

}  // namespace

bool is_privileged() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &header, data.data()) < 0) return false;
  const auto has = [&](unsigned capability) { return ((data[0].effective >> capability) & 1u) != 0; };
  return has(CAP_SYS_ADMIN) && has(CAP_NET_ADMIN);
}

void enter_user_namespace_if_unprivileged() {
  if (is_privileged()) return;
  const auto user = ::geteuid();
  const auto group = ::getegid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) refuse("make a user namespace");
  // A group map needs this first (user_namespaces(7)).
  write_map("/proc/self/setgroups", "deny");
  write_map("/proc/self/uid_map", std::format("0 {} 1", user));
  write_map("/proc/self/gid_map", std::format("0 {} 1", group));
  if (!is_privileged()) {
    errno = EPERM;
    refuse("use a user namespace");
  }
}

}  // namespace doxlab::net
