#pragma once
/// Whose each packet is, and what became of it. The link thread asks for a packet's place and records it;
/// other threads register flows and collect the packets. Locks are held for a few map operations only.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "capture/packet.hpp"
#include "lab/lab.hpp"
#include "lab/priority_mutex.hpp"

namespace doxlab::lab {

class Recorder {
 public:
  /// Packets of one lookup; shared by its flows, by the link's packets on the way, and by the recorder.
  struct Log;

  /// A packet on its way in: its coordinates, and where it will be recorded.
  struct Placement {
    std::shared_ptr<Log> log;
    link::PacketPlace place;
    bool is_spared = false;  ///< nothing happens to it but the delay
  };
  /// A recorded packet, to be told of its delivery.
  struct Ticket {
    std::shared_ptr<Log> log;  ///< null: an unknown flow's
    std::uint64_t number = 0;
    bool is_kept = false;
  };

  Recorder();
  ~Recorder();

  void register_flow(capture::Protocol protocol, const SocketAddress& client, FlowTag tag);
  /// See Lab::adopt_flows().
  void adopt(FlowTag tag, bool is_spared);
  /// Lookup 0: the packets of unknown flows.
  std::vector<capture::RecordedPacket> take(std::uint64_t lookup);
  std::vector<capture::RecordedPacket> peek(std::uint64_t lookup) const;
  void keep_unknown(std::size_t limit);
  std::vector<capture::RecordedPacket> take_settled(Timestamp now);
  std::uint64_t unknown_dropped() const;

  /// Counts the packet in. `may_open`: a new flow of a client may begin with it (UDP, or a SYN).
  Placement place(capture::Protocol protocol, const SocketAddress& client, link::Direction direction, bool may_open);
  /// `packet.lookup` is set here; the rest is the caller's.
  Ticket record(const Placement& placement, capture::RecordedPacket packet);
  void set_delivered(const Ticket& ticket, std::optional<Timestamp> when);

 private:
  struct FlowKey {
    capture::Protocol protocol;
    SocketAddress client;
    bool operator==(const FlowKey&) const = default;
  };
  struct FlowKeyHash {
    std::size_t operator()(const FlowKey& key) const noexcept {
      return std::hash<SocketAddress>{}(key.client) * 2 + (key.protocol == capture::Protocol::Tcp);
    }
  };
  struct Flow {
    std::shared_ptr<Log> log;
    std::uint64_t sample = 0;
  };
  /// A flow that may be forgotten, oldest first: its lookup was taken, or it never had one.
  struct Forgettable {
    FlowKey key;
    std::shared_ptr<Log> log;  ///< tells whether the flow is still the same
  };

  void make_forgettable(const FlowKey& key, const std::shared_ptr<Log>& log);
  Ticket record_unknown(capture::RecordedPacket packet);

  mutable PriorityMutex mutex_;
  std::unordered_map<FlowKey, Flow, FlowKeyHash> flows_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Log>> logs_;
  std::deque<Forgettable> forgettable_;
  std::shared_ptr<Log> adopter_;     ///< gets the flows that nobody registered; null: they are unknown
  std::uint64_t adopted_sample_ = 0;
  std::uint64_t unknown_flows_ = 0;
  std::deque<capture::RecordedPacket> unknown_;
  std::uint64_t first_unknown_ = 0;  ///< number of unknown_.front()
  std::size_t unknown_limit_ = 0;
  std::uint64_t unknown_dropped_ = 0;
};

}  // namespace doxlab::lab
