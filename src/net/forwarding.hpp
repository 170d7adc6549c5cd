#pragma once
/// A device whose packets the kernel passes on, for a while.

#include <string>

#include "net/file_descriptor.hpp"

namespace doxlab::net {

/// Lets the kernel forward IPv4 packets that come in through a device of the calling thread's namespace
/// (net.ipv4.conf.DEVICE.forwarding). If it did not before, the setting is put back when the last such object of any process goes, and
/// also when the process is killed: a small process of its own waits for that.
class Forwarding {
 public:
  /// Errors: std::system_error naming the setting.
  explicit Forwarding(const std::string& device);
  ~Forwarding();
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;

 private:
  FileDescriptor alive_;  ///< pipe that ends with this object; owns nothing if there is nothing to put back
  int guard_ = -1;        ///< the process that waits for its end
};

}  // namespace doxlab::net
