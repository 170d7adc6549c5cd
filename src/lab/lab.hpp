#pragma once
/// The lab: two network namespaces of this process's own threads joined by two TUN devices, and between
/// them the link thread that applies link::Path and records every packet. Nothing of it has a name in the
/// file system, so nothing outlives the process, not even after SIGKILL.

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/address.hpp"
#include "capture/packet.hpp"
#include "link/path.hpp"

namespace doxlab::lab {

enum class Side : std::uint8_t { Client, Server };

struct LabOptions {
  link::Impairments impairments{};
  /// TCP settings of both namespaces: name below /proc/sys/net/ipv4, value. Applied after the defaults that
  /// docs/method.md lists (tcp_syn_linear_timeouts 0 among them).
  std::vector<std::pair<std::string, std::string>> sysctls{};
  bool keep_processors_awake = false;    ///< AwakeProcessors for as long as the lab lives
  std::uint32_t tcp_initial_window = 0;  ///< segments; 0: the kernel's 10 (RFC 6928)
  /// The server is none of the lab's: what the link delivers goes on to this address by a WayOut, which the thread that
  /// makes the lab must reach. Needs root.
  std::optional<IpAddress> beyond{};
};

/// Whose a flow is: `lookup` is the caller's key of the recorded packets (never 0), `sample` goes into the
/// draws. Several flows may belong to one lookup (UDP, then TCP after truncation): the index runs on.
struct FlowTag {
  std::uint64_t lookup = 0;
  std::uint64_t sample = 0;
};

/// How late the link delivered: actual minus due, over all delivered packets.
struct LinkPrecision {
  std::uint64_t packets = 0;
  Duration p50{}, p99{}, max{};
  bool real_time_priority = false;
};

/// What entered the link in one direction: TCP and UDP packets, those that it dropped included.
struct LinkVolume {
  std::uint64_t packets = 0, ip_bytes = 0, dropped = 0;
};

class Lab {
 public:
  /// Builds everything; ready when it returns. Errors: std::system_error or std::runtime_error whose text
  /// says what failed, why, and what to do (no root, no /dev/net/tun, namespaces forbidden).
  explicit Lab(const LabOptions& options);
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  /// 10.66.0.1 and fd66::1.
  static IpAddress server_address(bool ipv6);
  /// 10.66.1.k / fd66:1::k for k from 1; the client's namespace holds kClientAddresses of each family, so
  /// that a client port can stand for a sample even when there are more samples than ports.
  static IpAddress client_address(bool ipv6, std::size_t k = 1);
  static constexpr std::size_t kClientAddresses = 16;

  /// Runs `body` in a thread inside the side's namespace; sockets it makes stay there.
  std::jthread start_thread(Side side, std::function<void(std::stop_token)> body);
  /// Runs `body` in the side's namespace and waits; exceptions pass through.
  void run_in(Side side, const std::function<void()>& body);

  /// Before the first packet: whose packets a client's socket address sends and gets. Packets of unknown
  /// flows are numbered by flow in order of appearance, with lookup 0 in the record.
  void register_flow(capture::Protocol protocol, const SocketAddress& client, FlowTag tag);
  /// From now on flows that begin at the client without having been registered belong to this lookup, all of them: what a
  /// program sends whose sockets are its own. Packets of one direction are numbered over all its flows, as they come. Flows
  /// that an earlier call took in go on in the new lookup, with numbers from 0. Ends when the lookup is taken. `is_spared`:
  /// the link only delays these packets.
  void adopt_flows(FlowTag tag, bool is_spared);
  /// Hands over the packets of a lookup in order of `sent` and forgets its flows; later packets of those
  /// flows go to lookup 0. Packets still on the way are waited for by the caller, not here.
  std::vector<capture::RecordedPacket> take(std::uint64_t lookup);
  /// A copy of what was recorded so far, flows kept.
  std::vector<capture::RecordedPacket> peek(std::uint64_t lookup) const;
  /// Packets of unknown flows are kept only if asked for (bounded: oldest dropped beyond `limit`).
  void keep_unknown(std::size_t limit);
  /// Hands over packets of unknown flows in order of `sent`, up to the first whose fate is open at `now`, so
  /// that a record of any length can be written as it grows.
  std::vector<capture::RecordedPacket> take_settled(Timestamp now);
  /// Kept packets of unknown flows that were dropped from the record beyond its limit.
  std::uint64_t unknown_dropped() const;

  LinkPrecision precision() const;
  /// How long the link stood still shortly before it read a packet at `sent`, if it did: so long the packet may have
  /// waited unseen in its sender's device. Known from packets that were due in the meantime; of the last twenty seconds.
  Duration stall_before(Timestamp sent) const;
  /// Over all flows.
  LinkVolume volume(link::Direction direction) const;
  const link::Impairments& impairments() const;
  /// Kernel settings read back from the client's namespace, name and value, for the results.
  std::vector<std::pair<std::string, std::string>> kernel_settings() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace doxlab::lab
