#pragma once
/// What a TCP connection cost, from what its socket's user did and saw and what the kernel counted (net/tcp_counters.hpp).

#include <optional>
#include <vector>

#include "capture/packet.hpp"
#include "net/tcp_counters.hpp"
#include "trace/critical_path.hpp"

namespace doxlab::experiment {

/// One connection as it was watched.
struct WatchedStream {
  /// What the socket's user did or saw, in order of time. Octets are counted from the beginning.
  struct Event {
    enum class Kind : std::uint8_t { Connecting, Connected, Sending, Readable, Received } kind = Kind::Connecting;
    Timestamp when;
    std::uint64_t bytes_in = 0;        ///< read so far
    net::TcpCounters counters;         ///< as they stood then
  };
  bool ipv6 = false;
  /// Options that this machine's SYN offers (tcp_timestamps, tcp_sack, tcp_window_scaling).
  bool offers_timestamps = true, offers_sack = true, offers_window_scaling = true;
  std::vector<Event> events;
  std::optional<Event> end;            ///< when the socket was closed
};

/// Packets and IP bytes from the start until the answer, and after it until the end. Bytes are those of the payload and, for each
/// segment, of an IP header without options or extension headers and a TCP header with the options that were negotiated; the SYN has
/// those that are offered, the SYN-ACK those that were taken. What the kernel counted before the end of the answer was read is
/// before it, so that its acknowledgement can be among that; octets of the server that came twice are not seen.
trace::Volumes count_volumes(const WatchedStream& stream, Timestamp started, std::optional<Timestamp> answered);

/// What was sent and received from `started` on, as packets without octets: the SYN, each time that the user sent, each time that
/// something came, and an acknowledgement for that. The server has them by half of the shortest way there and back.
std::vector<capture::RecordedPacket> steps_of(const WatchedStream& stream, Timestamp started);

}  // namespace doxlab::experiment
