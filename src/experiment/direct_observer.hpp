#pragma once
/// Sees what lookups cost that go over this machine's own sockets: by a packet socket where that is permitted, or else as far as
/// the sockets and the kernel's counters tell.

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "experiment/rig.hpp"

namespace doxlab::experiment {

class DirectObserver {
 public:
  /// In a thread of the network namespace that the server is reached from; `ports` are all that are asked. Whatever keeps it from a packet socket is in
  /// why_not().
  DirectObserver(const IpAddress& server, const std::set<std::uint16_t>& ports);
  ~DirectObserver();

  bool has_packet_socket() const;
  /// Why there is no packet socket; empty: there is one.
  const std::string& why_not() const;

  /// For the sockets of one lookup that asks this server.
  std::shared_ptr<io::SocketWatcher> watch(const SocketAddress& server);
  /// What `watcher`, of watch(), and the packet socket saw of a lookup becomes part of its sample, of which the result is there.
  /// Call it once the lookup's sockets are closed; what comes later is not counted.
  void take(io::SocketWatcher& watcher, Sample& sample);

  /// Packets that should have been seen or kept and were not.
  std::uint64_t missed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace doxlab::experiment
