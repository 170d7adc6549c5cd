#include "experiment/headroom.hpp"

#include <algorithm>

namespace doxlab::experiment {
namespace {

constexpr std::uint64_t kAmplificationFactor = 3;  // RFC 9000 §8.1
constexpr std::uint64_t kKernelInitialWindow = 10;  // segments, RFC 6928

std::uint64_t less(std::uint64_t bytes, std::uint64_t headers) { return bytes - std::min(bytes, headers); }

results::Headroom between(std::string_view limit, std::uint64_t flight, std::uint64_t allowed) {
  return {.limit = std::string(limit),
          .flight = flight,
          .allowed = allowed,
          .headroom = static_cast<std::int64_t>(allowed) - static_cast<std::int64_t>(flight)};
}

/// What the client sent before it had heard anything, and what the server sent on that alone.
std::optional<results::Headroom> below_amplification_limit(const results::Explanation& lookup, std::uint64_t headers) {
  std::optional<double> heard, answered;  // ms: the client hears of the server; its next datagram is there
  for (const auto& packet : lookup.packets)
    if (packet.direction == "s2c" && packet.delivered_ms) heard = std::min(heard.value_or(*packet.delivered_ms), *packet.delivered_ms);
  if (!heard) return std::nullopt;
  std::uint64_t received = 0, flight = 0;
  for (const auto& packet : lookup.packets) {
    if (packet.direction != "c2s") continue;
    if (packet.sent_ms < *heard) received += less(packet.ip_bytes, headers);
    else if (packet.delivered_ms) answered = std::min(answered.value_or(*packet.delivered_ms), *packet.delivered_ms);
  }
  for (const auto& packet : lookup.packets)
    if (packet.direction == "s2c" && (!answered || packet.sent_ms < *answered)) flight += less(packet.ip_bytes, headers);
  return between("amplification", flight, kAmplificationFactor * received);
}

/// The handshake over TCP: everything from the ServerHello to the packet that completed it.
std::optional<results::Headroom> below_initial_window(const results::Explanation& lookup, std::uint64_t headers,
                                                      std::uint64_t window) {
  std::optional<std::uint32_t> last;
  for (const auto& trip : lookup.round_trips)
    if (trip.need == "tls_handshake" || trip.need == "congestion_window") last = trip.to_client;
  if (!last) return std::nullopt;
  std::uint64_t flight = 0;
  for (std::uint32_t i = 0; i <= *last && i < lookup.packets.size(); ++i) {
    const auto& packet = lookup.packets[i];
    if (packet.direction == "s2c" && !packet.carried.starts_with("SYN")) flight += less(packet.ip_bytes, headers);
  }
  return between("initial_window", flight, window);
}

}  // namespace

std::optional<results::Headroom> headroom(const Setup& setup, Transport transport, const results::Accounting& accounting) {
  if (!has_tls(transport) || !accounting.median || setup.start == Start::Reused) return std::nullopt;
  std::optional<results::Headroom> out;
  const std::uint64_t ip_header = setup.ipv6 ? 40 : 20;
  if (is_quic(transport)) {
    const auto validated = std::ranges::any_of(accounting.median->round_trips, [](const auto& t) { return t.need == "retry"; });
    if (setup.use_token || validated) return std::nullopt;
    if (const auto& stall = accounting.stall) out = between("amplification", stall->flight, stall->budget);
    else out = below_amplification_limit(*accounting.median, ip_header + 8);
  } else {
    const std::uint64_t headers = ip_header + 32;  // with TCP timestamps, which Linux uses by default
    const std::uint64_t segments = setup.tcp_initial_window > 0 ? setup.tcp_initial_window : kKernelInitialWindow;
    out = below_initial_window(*accounting.median, headers, segments * (setup.link.mtu - headers));
  }
  if (out) out->transport = display_name(transport);
  return out;
}

}  // namespace doxlab::experiment
