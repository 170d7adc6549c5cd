#pragma once
/// A TUN device: the kernel's IP packets as reads and writes. It carries whole packets without offloads, so
/// what is read is what a wire would carry.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.hpp"
#include "net/file_descriptor.hpp"

namespace doxlab::net {

class TunDevice {
 public:
  /// Makes the device in the calling thread's network namespace; it vanishes with this object.
  /// Errors: std::system_error, with what to do if /dev/net/tun is missing or forbidden.
  explicit TunDevice(const std::string& name);

  const std::string& name() const { return name_; }
  /// For epoll; non-blocking.
  int descriptor() const { return fd_.get(); }

  /// The next packet that the kernel sent into the device, or empty if there is none now.
  /// Errors: packets longer than `buffer` are cut; 65535 octets always suffice.
  std::optional<std::size_t> read(std::span<std::uint8_t> buffer);
  /// Gives a packet to the kernel as received. False: the kernel did not take it (device down, malformed).
  bool write(BytesView packet);

 private:
  std::string name_;
  FileDescriptor fd_;
};

}  // namespace doxlab::net
