#include "trace/amplification.hpp"

#include <algorithm>

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

}  // namespace

bool is_beyond_limit(const Dissection& dissection, std::span<const ObservedPacket> packets,
                     const std::vector<Carried>& carried, std::uint32_t q, std::uint32_t r) {
  const auto standing = before_arrival(dissection, packets, carried, q);
  if (standing.validated || standing.sent == 0) return false;
  return standing.sent + carried[r].udp_payload_bytes > kAmplificationFactor * standing.received;
}

AmplificationStall describe_stall(const Dissection& dissection, std::span<const ObservedPacket> packets,
                                  const std::vector<Carried>& carried, std::uint32_t q, std::uint32_t r) {
  const auto standing = before_arrival(dissection, packets, carried, q);
  AmplificationStall out{.received = standing.received,
                         .budget = kAmplificationFactor * standing.received,
                         .sent = standing.sent,
                         .flight = standing.sent,
                         .stopped_at = standing.last_sent,
                         .released_by = q};
  // What had to wait is the rest of the handshake that follows at once.
  for (auto i = r; i < packets.size(); ++i) {
    if (packets[i].direction != Direction::ToClient || !carried[i].new_handshake) continue;
    if (carried[i].space == dissect::Epoch::Application) break;
    out.flight += carried[i].udp_payload_bytes;
  }
  // `r` may be the last of several datagrams that were released together.
  for (auto i = r; i-- > 0 && packets[i].sent > *packets[q].delivered;)
    if (packets[i].direction == Direction::ToClient && carried[i].new_handshake) out.flight += carried[i].udp_payload_bytes;
  out.shortfall = out.flight - std::min(out.flight, out.budget);
  return out;
}

}  // namespace doxlab::trace
