#pragma once
/// What one device sends to an address and receives from it, as the network layer has it (packet(7)).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/address.hpp"
#include "base/time.hpp"
#include "net/file_descriptor.hpp"

namespace doxlab::net {

/// A packet, or several that the device is to cut (segmentation offload) or that were put together on arrival.
struct SeenPacket {
  Timestamp when;                 ///< of the kernel
  bool outgoing = false;          ///< on its way to the device; over loopback each packet is seen both ways
  std::uint16_t segment_bytes = 0;  ///< payload octets of each but the last packet that the wire carries; 0: it is one packet
  BytesView bytes;                ///< from the IP header on, possibly with padding of the link behind; valid until the next call
};

class PacketSocket {
 public:
  /// Sees packets of one device from or to the address. Needs CAP_NET_RAW in the user namespace that owns the network.
  /// Errors: std::system_error, EPERM without that.
  PacketSocket(const std::string& device, const IpAddress& address);

  /// The next packet that waits; empty: none does.
  std::optional<SeenPacket> receive();
  /// Packets that the kernel could not keep because too many waited, or that it gave in a form that is not understood, so far.
  std::uint64_t missed();
  /// For poll(2).
  int fd() const { return socket_.get(); }

 private:
  FileDescriptor socket_;
  std::vector<std::uint8_t> buffer_;
  std::uint64_t missed_ = 0;
};

}  // namespace doxlab::net
