#pragma once
/// The packets of a server that a packet socket sees, by the client's ports, until they are asked for.

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "capture/packet.hpp"
#include "net/packet_socket.hpp"

namespace doxlab::experiment {

/// A port of this machine that packets went from or to.
struct FlowKey {
  capture::Protocol protocol = capture::Protocol::Other;
  SocketAddress client;
  bool operator==(const FlowKey&) const = default;
};
struct FlowKeyHash {
  std::size_t operator()(const FlowKey& key) const noexcept {
    return std::hash<SocketAddress>{}(key.client) * 2 + (key.protocol == capture::Protocol::Tcp);
  }
};

/// A packet of which no more is known than when the client sent or got it.
capture::RecordedPacket seen_at_client(link::Direction direction, Timestamp when, Bytes&& bytes);

class PacketLog {
 public:
  /// Reads in a thread of its own what passes the device to and from these ports of the server. Errors: those of
  /// net::PacketSocket.
  PacketLog(const std::string& device, const IpAddress& server, std::set<std::uint16_t> ports);
  ~PacketLog();

  /// What a flow that was opened then has sent and got so far; it is forgotten.
  std::vector<capture::RecordedPacket> take(const FlowKey& key, Timestamp opened);
  /// Packets that were not seen, could not be read, or were too many to be kept (a server may send what it likes), so far.
  std::uint64_t missed();

 private:
  using Flows = std::unordered_map<FlowKey, std::vector<capture::RecordedPacket>, FlowKeyHash>;

  void watch(std::stop_token stop);
  void drain();
  void add(const net::SeenPacket& seen, Bytes&& packet);
  void forget(Timestamp now);
  void let_go(const std::vector<capture::RecordedPacket>& packets);

  const IpAddress server_;
  const std::set<std::uint16_t> ports_;
  std::mutex mutex_;
  net::PacketSocket socket_;
  Flows flows_;
  std::uint64_t received_ = 0, not_kept_ = 0;
  std::size_t kept_bytes_ = 0;
  net::FileDescriptor wake_;
  std::jthread thread_;  // last, so that it ends first
};

}  // namespace doxlab::experiment
