#pragma once
/// The way from the server's namespace of a lab to an address beyond: a cable into the namespace of the caller, and address
/// translation at both of its ends, so that the machine sends for the lab as it sends for its own programs.
///
///   client ── link ── namespace of the server ══ cable ══ this machine ── ... ── the address
///
/// Nothing of it outlives the process, even if that is killed: the cable ends with the lab's namespace, the tables of the
/// packet filter belong to the process, and a setting that was changed is put back by a process that waits for our end.

#include <memory>
#include <string>

#include "base/address.hpp"
#include "net/network_namespace.hpp"

namespace doxlab::lab {

class WayOut {
 public:
  /// `server` is the namespace of the lab's server, whose own routes lead to the clients alone. Call it in a thread of the
  /// namespace that the address is reached from. Errors: std::runtime_error, std::system_error with what to do: no root, no
  /// route to the address, an address of the loopback device, IPv6 that this machine does not forward.
  WayOut(const net::NetworkNamespace& server, const IpAddress& destination);
  ~WayOut();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace doxlab::lab
