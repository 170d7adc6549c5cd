#pragma once
/// A network namespace without a name: it lives while a descriptor, a thread or a socket refers to it, so
/// nothing of it outlives the process.

#include <functional>

#include "net/file_descriptor.hpp"

namespace doxlab::net {

class NetworkNamespace {
 public:
  /// A new, empty namespace; the calling thread stays where it is.
  /// Errors: std::system_error (no CAP_SYS_ADMIN), with what to do.
  static NetworkNamespace make();
  /// The namespace of the calling thread.
  static NetworkNamespace current();

  /// Moves the calling thread; sockets and children it makes from now on belong to the namespace.
  void enter() const;
  /// Runs `body` in a thread of its own inside the namespace and waits; exceptions pass through.
  void run(const std::function<void()>& body) const;

  int descriptor() const { return fd_.get(); }

 private:
  explicit NetworkNamespace(FileDescriptor fd) : fd_(std::move(fd)) {}
  FileDescriptor fd_;
};

/// Runs `body` in a new thread and waits; exceptions pass through. For work that changes the thread itself.
void run_in_thread(const std::function<void()>& body);

}  // namespace doxlab::net
