#include "net/tcp_counters.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <limits>

namespace doxlab::net {

std::optional<TcpCounters> read_tcp_counters(int socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  if (length < offsetof(tcp_info, tcpi_bytes_sent) + sizeof info.tcpi_bytes_sent) return std::nullopt;
  TcpCounters out;
  out.segments_out = info.tcpi_segs_out;
  out.segments_in = info.tcpi_segs_in;
  out.bytes_out = info.tcpi_bytes_sent;
  out.retransmissions = info.tcpi_total_retrans;
  if (info.tcpi_min_rtt != std::numeric_limits<__u32>::max()) out.shortest_round_trip = std::chrono::microseconds(info.tcpi_min_rtt);
  out.timestamps = (info.tcpi_options & TCPI_OPT_TIMESTAMPS) != 0;
  out.sack = (info.tcpi_options & TCPI_OPT_SACK) != 0;
  out.window_scaling = (info.tcpi_options & TCPI_OPT_WSCALE) != 0;
  return out;
}

}  // namespace doxlab::net
