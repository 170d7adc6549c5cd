#pragma once
/// What a QUIC endpoint may vary.

#include <cstdint>
#include <functional>
#include <string>

#include "base/bytes.hpp"
#include "base/time.hpp"

namespace doxlab::quic {

/// A connection ID of at most 20 octets.
struct ConnectionId {
  Bytes octets;
  auto operator<=>(const ConnectionId&) const = default;
};

/// Gets the qlog of one connection as it is made: whole JSON-SEQ records (RFC 7464), in the thread that runs the
/// connection. It is destroyed with the connection, after the last record.
using QlogSink = std::function<void(std::string_view record)>;
/// Called for each connection before it sends or receives anything. `original_destination` is the Destination
/// Connection ID of the client's very first Initial, which names the connection at both ends, Retry or not (the
/// server's qlog itself names the ID of the Retry). An empty sink: no qlog of this one.
using QlogOpener = std::function<QlogSink(const ConnectionId& original_destination, bool is_server)>;

enum class CongestionControl : std::uint8_t { Reno, Cubic, Bbr };

struct Options {
  std::uint32_t version = 1;     ///< 1 (RFC 9000) or 2 (RFC 9369)
  Duration initial_rtt = 333ms;  ///< RFC 9002 §6.2.2
  /// Largest UDP payload sent, and what Initial datagrams are padded to (at least 1200, RFC 9000 §14.1).
  /// 1232 fits the smallest IPv6 path (1280 - 40 - 8). Path MTU discovery is off so that sizes are known.
  std::size_t datagram_bytes = 1232;
  Duration max_idle_timeout = 30s;
  Duration handshake_timeout = 20s;  ///< longer than four probe timeouts that double from 1 s
  CongestionControl congestion = CongestionControl::Cubic;
  /// Client: how often each datagram of its first flight is sent, the copies behind the originals. Against loss
  /// before the server has answered; copies are duplicates to the server (RFC 9000 §12.3) but count for its
  /// amplification limit.
  std::size_t first_flight_copies = 1;
  std::uint64_t max_streams_bidi = 100;      ///< that the peer may open
  std::uint64_t max_streams_uni = 0;         ///< DoQ allows none (RFC 9250 §4.2); HTTP/3 needs 3
  std::uint64_t stream_window_bytes = 256 * 1024;
  std::uint64_t connection_window_bytes = 1024 * 1024;
  QlogOpener qlog;  ///< empty: no qlog
  /// Server, to see what a fault looks like: Initial packets with CRYPTO data that was sent before do not leave.
  /// Acknowledgements and the packets of other spaces go on.
  bool withhold_initial_retransmission = false;
};

/// When a server asks a client to prove its address with a Retry packet (RFC 9000 §8.1.2).
enum class RetryPolicy : std::uint8_t { Off, Always };

}  // namespace doxlab::quic
