#pragma once
/// What the kernel has counted of a TCP connection (tcp(7), TCP_INFO).

#include <cstdint>
#include <optional>

#include "base/time.hpp"

namespace doxlab::net {

struct TcpCounters {
  std::uint32_t segments_out = 0, segments_in = 0;  ///< all, SYN, FIN and acknowledgements included
  std::uint64_t bytes_out = 0;                      ///< payload octets sent, those that were sent again included
  std::uint32_t retransmissions = 0;                ///< segments sent again, SYNs included
  Duration shortest_round_trip{};                   ///< from data to its acknowledgement; zero: none was measured
  bool timestamps = false, sack = false, window_scaling = false;  ///< negotiated options (RFC 7323, RFC 2018)
};

/// Empty if the socket is none of TCP's, or the kernel is older than 4.19 and does not count all of it.
std::optional<TcpCounters> read_tcp_counters(int socket);

}  // namespace doxlab::net
