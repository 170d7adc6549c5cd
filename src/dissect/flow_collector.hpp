#pragma once
/// Sorts the packets of a capture into flows, so that each can be dissected by itself and a file of any size
/// takes bounded memory. A flow is a pair of addresses and ports with a protocol; a QUIC client that moves
/// begins another one.

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <vector>

#include "capture/packet.hpp"
#include "dissect/flow.hpp"
#include "dissect/pcap_reader.hpp"

namespace doxlab::dissect {

/// A packet that a flow keeps.
struct FlowPacket {
  std::uint64_t number = 0;  ///< of its frame in the file
  std::uint64_t time_ns = 0;
  std::uint32_t ip_bytes = 0;
  bool never_arrived = false;  ///< a comment of our own captures says so
  Bytes bytes;
};

/// A flow in order of capture.
struct Flow {
  capture::Protocol protocol = capture::Protocol::Other;
  SocketAddress first_source, first_destination;
  std::vector<FlowPacket> packets;
  std::size_t bytes = 0;  ///< kept

  /// For dissect(): every packet was delivered when it was captured. Borrows from this flow.
  std::vector<ObservedPacket> observe() const;
};

struct FlowLimits {
  std::size_t flow_bytes = std::size_t{32} << 20;    ///< of one flow; then it is handed over and begins again
  std::size_t total_bytes = std::size_t{256} << 20;  ///< of all; then the one idle for longest is handed over
  Duration idle = 60s;                               ///< by the packets' own times; then it is handed over
};

class FlowCollector {
 public:
  using Handler = std::function<void(Flow&&)>;
  /// `on_flow` gets each flow once it is over, in order of their last packets where they ended by themselves.
  explicit FlowCollector(Handler on_flow, FlowLimits limits = {});

  void add(const CapturedPacket& packet);
  /// Hands over what is left; at the end of the file.
  void finish();

 private:
  struct Key {
    capture::Protocol protocol;
    SocketAddress low, high;
    auto operator<=>(const Key&) const = default;
  };
  struct Open {
    Key key;
    std::uint64_t last_ns = 0;
    Flow flow;
  };
  using Flows = std::list<Open>;  // the one idle for longest first

  void hand_over(Flows::iterator flow);

  Handler on_flow_;
  FlowLimits limits_;
  Flows flows_;
  std::map<Key, Flows::iterator> by_key_;
  std::size_t bytes_ = 0;
};

}  // namespace doxlab::dissect
