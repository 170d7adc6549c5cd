#include "net/network_namespace.hpp"

#include <fcntl.h>
#include <sched.h>

#include <exception>
#include <optional>
#include <thread>

#include "net/system_error.hpp"

namespace doxlab::net {

NetworkNamespace NetworkNamespace::make() {
  std::optional<NetworkNamespace> made;
  run_in_thread([&] {
    if (::unshare(CLONE_NEWNET) < 0) {
      if (errno == EPERM) throw_errno("make a network namespace (run as root, or allow user namespaces)");
      throw_errno("make a network namespace");
    }
    made = current();
  });
  return std::move(*made);
}

NetworkNamespace NetworkNamespace::current() {
  // Not /proc/self: that is the process's first thread, which may be elsewhere.
  return NetworkNamespace(FileDescriptor(
      checked(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), "open /proc/thread-self/ns/net")));
}

void NetworkNamespace::enter() const {
  checked(::setns(fd_.get(), CLONE_NEWNET), "enter a network namespace");
}

void NetworkNamespace::run(const std::function<void()>& body) const {
  run_in_thread([&] {
    enter();
    body();
  });
}

void run_in_thread(const std::function<void()>& body) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      body();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace doxlab::net
