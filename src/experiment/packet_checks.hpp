#pragma once
/// Whether packets pass between the two namespaces of a lab, found out by sending some: whatever drops them (a packet
/// filter, a program of a control group, a device's MTU), they tell.

#include <cstddef>
#include <vector>

#include "lab/lab.hpp"
#include "results/preflight.hpp"

namespace doxlab::experiment {

/// Small and full-sized UDP datagrams both ways, and a TCP connection: two checks, "packets IPv4" (or IPv6) and "mtu IPv4".
/// `largest_datagram` is QUIC's (UDP payload, bytes; 0: no QUIC). The link must lose nothing by chance. Takes a second for each
/// packet that does not arrive.
std::vector<results::PreflightCheck> check_packets(lab::Lab& lab, bool ipv6, std::size_t largest_datagram);

}  // namespace doxlab::experiment
