#include "trace/retransmission.hpp"

#include <algorithm>
#include <array>

#include "trace/repeats.hpp"

namespace doxlab::trace {
namespace {

using dissect::Dissection;
using dissect::ObservedPacket;
using dissect::QuicFrame;
using link::Direction;

/// A QUIC packet with one of its frames.
struct Place {
  const dissect::QuicPacket& packet;
  const QuicFrame& frame;
};

template <class See>
void for_each_frame(const Dissection& dissection, std::uint32_t packet, See see) {
  const auto& here = dissection.packets[packet];
  for (std::uint32_t q = here.first_quic_packet; q < here.first_quic_packet + here.quic_packets; ++q) {
    const auto& quic = dissection.quic_packets[q];
    for (std::uint32_t f = quic.first_frame; f < quic.first_frame + quic.frames; ++f)
      see(Place{quic, dissection.quic_frames[f]});
  }
}

std::optional<std::uint32_t> find_original(const Dissection& dissection, std::span<const ObservedPacket> packets,
                                           const std::vector<Carried>& carried, std::uint32_t packet, Timestamp started) {
  const auto& here = carried[packet];
  const bool is_probe = here.is_quic && here.ack_eliciting && !here.repeated && !here.new_data;
  const bool asks = here.asks != Asks::Nothing && packets[packet].direction == Direction::ToServer;
  if (!here.repeated && !is_probe && !asks) return std::nullopt;
  for (auto i = packet; i-- > 0 && packets[i].sent >= started;) {
    // A probe may be two packets with the same octets (RFC 9002 §6.2.4): they are one sending.
    if (packets[i].direction != packets[packet].direction || packets[packet].sent - packets[i].sent <= kReaction) continue;
    if (is_probe ? carried[i].ack_eliciting && carried[i].space == here.space : repeats(dissection, packet, i))
      return i;
  }
  return std::nullopt;
}

/// True if an ACK in `received` acknowledges a packet that was sent after `original` in its space.
bool acknowledges_later(const Dissection& dissection, std::uint32_t received, std::uint32_t original) {
  bool out = false;
  for_each_frame(dissection, original, [&](const Place& sent) {
    if (!is_ack_eliciting(sent.frame.type)) return;
    for_each_frame(dissection, received, [&](const Place& got) {
      const bool is_ack = got.frame.type == dissect::kFrameAck || got.frame.type == dissect::kFrameAckEcn;
      out |= is_ack && epoch_of(got.packet.type) == epoch_of(sent.packet.type) && !got.frame.acked.empty() &&
             got.frame.acked.front().largest > sent.packet.packet_number;
    });
  });
  return out;
}

/// TCP: the peer sent `received` after something had reached it that was sent after `original`.
bool may_know_of_later(std::span<const ObservedPacket> packets, std::uint32_t received, std::uint32_t original) {
  for (auto i = original + 1; i < packets.size() && packets[i].sent < packets[received].sent; ++i)
    if (packets[i].direction == packets[original].direction && packets[i].delivered &&
        *packets[i].delivered <= packets[received].sent)
      return true;
  return false;
}

/// True if `packet` sends in 1-RTT what went in 0-RTT, as after early data was rejected (RFC 9001 section 4.6.2).
bool is_early_data_again(const Dissection& dissection, std::uint32_t packet, std::uint32_t original) {
  const auto has = [&](std::uint32_t index, dissect::QuicPacketType type) {
    const auto& here = dissection.packets[index];
    for (auto q = here.first_quic_packet; q < here.first_quic_packet + here.quic_packets; ++q)
      if (dissection.quic_packets[q].type == type) return true;
    return false;
  };
  return has(original, dissect::QuicPacketType::ZeroRtt) && has(packet, dissect::QuicPacketType::OneRtt);
}

bool was_prompted(const Dissection& dissection, std::span<const ObservedPacket> packets,
                  const std::vector<Carried>& carried, std::uint32_t packet, std::uint32_t original, Duration round_trip) {
  const bool is_tcp = dissection.packets[packet].segment != dissect::kNone;
  const bool is_early_data = is_early_data_again(dissection, packet, original);
  const auto patience = std::max<Duration>(kReaction, is_tcp ? round_trip / 2 : round_trip / 4);
  for (std::uint32_t i = 0; i < packets.size(); ++i) {
    if (packets[i].direction == packets[packet].direction || !packets[i].delivered ||
        *packets[i].delivered > packets[packet].sent || *packets[i].delivered < packets[original].sent)
      continue;
    const Duration before = packets[packet].sent - *packets[i].delivered;
    // A probe or repetition of the peer, to which the end answers at once with what it has.
    if (before <= kReaction && carried[i].ack_eliciting && (carried[i].repeated || !carried[i].new_data || carried[i].retry))
      return true;
    if (before <= kReaction && is_early_data && carried[i].new_handshake) return true;
    if (before <= kReaction && (carried[i].retry || carried[i].version_negotiation || carried[i].hello_retry_request))
      return true;
    if (before > patience || !carried[i].has_ack) continue;
    if (is_tcp ? may_know_of_later(packets, i, original) : acknowledges_later(dissection, i, original)) return true;
  }
  return false;
}

}  // namespace

Duration shortest_round_trip(std::span<const ObservedPacket> packets) {
  std::array<std::optional<Duration>, 2> least;
  for (const auto& packet : packets) {
    if (!packet.delivered || !packet.direction) continue;
    auto& here = least[dissect::side(*packet.direction)];
    const Duration transit = *packet.delivered - packet.sent;
    here = here ? std::min(*here, transit) : transit;
  }
  return least[0].value_or(Duration{}) + least[1].value_or(Duration{});
}

std::optional<std::uint32_t> timed_out(const Dissection& dissection, std::span<const ObservedPacket> packets,
                                       const std::vector<Carried>& carried, std::uint32_t packet,
                                       Timestamp started, Duration round_trip) {
  const auto original = find_original(dissection, packets, carried, packet, started);
  if (!original || was_prompted(dissection, packets, carried, packet, *original, round_trip)) return std::nullopt;
  return original;
}

}  // namespace doxlab::trace
