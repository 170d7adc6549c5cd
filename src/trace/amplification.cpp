#include "trace/amplification.hpp"

#include <algorithm>
#include <optional>

namespace doxlab::trace {
namespace {

using dissect::Dissection;
using dissect::ObservedPacket;
using dissect::QuicPacketType;
using link::Direction;

/// UDP payload bytes between an address that is not validated and the server, when a packet arrives there.
struct Standing {
  std::uint64_t received = 0, sent = 0;
  std::uint32_t last_sent = dissect::kNone;
  bool validated = false;
};

/// A Handshake packet proves the address, and so does a token in an Initial.
bool validates(const Dissection& dissection, std::uint32_t packet) {
  const auto& here = dissection.packets[packet];
  for (std::uint32_t q = here.first_quic_packet; q < here.first_quic_packet + here.quic_packets; ++q) {
    const auto& quic = dissection.quic_packets[q];
    if (quic.type == QuicPacketType::Handshake || (quic.type == QuicPacketType::Initial && quic.token.length > 0)) return true;
  }
  return false;
}

Standing before_arrival(const Dissection& dissection, std::span<const ObservedPacket> packets,
                        const std::vector<Carried>& carried, std::uint32_t arriving) {
  const auto when = *packets[arriving].delivered;
  Standing out;
  for (std::uint32_t i = 0; i < packets.size(); ++i) {
    if (!carried[i].is_quic || i == arriving) continue;
    if (packets[i].direction == Direction::ToServer) {
      if (!packets[i].delivered || *packets[i].delivered > when) continue;
      out.received += carried[i].udp_payload_bytes;
      out.validated |= validates(dissection, i);
    } else if (packets[i].sent <= when && !carried[i].retry && !carried[i].version_negotiation) {
      out.sent += carried[i].udp_payload_bytes;
      out.last_sent = i;
    }
  }
  return out;
}

/// The first packet that arrived since the server last sent anything: of several that come together, each may end a wait.
std::uint32_t first_arrival(std::span<const ObservedPacket> packets, std::uint32_t q) {
  const auto until = *packets[q].delivered;
  std::optional<Timestamp> last_sent;
  for (const auto& packet : packets)
    if (packet.direction == Direction::ToClient && packet.sent <= until) last_sent = std::max(last_sent, std::optional(packet.sent));
  auto first = q;
  for (std::uint32_t i = 0; i < packets.size(); ++i)
    if (packets[i].direction == Direction::ToServer && packets[i].delivered && last_sent && *packets[i].delivered > *last_sent &&
        *packets[i].delivered < *packets[first].delivered)
      first = i;
  return first;
}

}  // namespace

bool is_beyond_limit(const Dissection& dissection, std::span<const ObservedPacket> packets,
                     const std::vector<Carried>& carried, std::uint32_t q, std::uint32_t r) {
  const auto standing = before_arrival(dissection, packets, carried, first_arrival(packets, q));
  if (standing.validated || standing.sent == 0) return false;
  return standing.sent + carried[r].udp_payload_bytes > kAmplificationFactor * standing.received;
}

AmplificationStall describe_stall(const Dissection& dissection, std::span<const ObservedPacket> packets,
                                  const std::vector<Carried>& carried, std::uint32_t q, std::uint32_t r) {
  const auto first = first_arrival(packets, q);
  const auto standing = before_arrival(dissection, packets, carried, first);
  AmplificationStall out{.received = standing.received,
                         .budget = kAmplificationFactor * standing.received,
                         .sent = standing.sent,
                         .flight = standing.sent,
                         .stopped_at = standing.last_sent,
                         .released_by = first};
  // What had to wait is the rest of the handshake that follows at once.
  for (auto i = r; i < packets.size(); ++i) {
    if (packets[i].direction != Direction::ToClient || !carried[i].new_handshake) continue;
    if (carried[i].space == dissect::Epoch::Application) break;
    out.flight += carried[i].udp_payload_bytes;
  }
  // `r` may be the last of several datagrams that were released together.
  for (auto i = r; i-- > 0 && packets[i].sent > *packets[first].delivered;)
    if (packets[i].direction == Direction::ToClient && carried[i].new_handshake) out.flight += carried[i].udp_payload_bytes;
  out.shortfall = out.flight - std::min(out.flight, out.budget);
  return out;
}

}  // namespace doxlab::trace
