#include "trace/waits.hpp"

#include <algorithm>
#include <array>

#include "trace/retransmission.hpp"

namespace doxlab::trace {
namespace {

using dissect::Dissection;
using dissect::Epoch;
using dissect::ObservedPacket;
using link::Direction;

/// The most that computing takes: a handshake on a slow machine, a resolver that looks something up in memory.
constexpr auto kMostComputing = 25ms;
/// Linux's least retransmission timeout.
constexpr auto kLeastRto = 200ms;

struct TimerNames {
  std::string_view json, display;
};
constexpr std::array<TimerNames, kTimerCount> kTimers{{{"syn_retransmission", "SYN retransmission"},
                                              {"syn_ack_retransmission", "SYN-ACK retransmission"},
                                              {"rto", "RTO"},
                                              {"tlp", "tail loss probe"},
                                              {"loss_delay", "loss delay"},
                                              {"pto_initial", "PTO, Initial"},
                                              {"pto_handshake", "PTO, Handshake"},
                                              {"pto_application", "PTO, 1-RTT"},
                                              {"delayed_ack", "delayed ACK"},
                                              {"query_retransmission", "query retransmission"}}};

/// When the same end last sent something that asks for an acknowledgement, before this packet.
std::optional<Timestamp> last_eliciting(std::span<const ObservedPacket> packets, const std::vector<Carried>& carried,
                                        std::uint32_t packet) {
  for (auto i = packet; i-- > 0;)
    if (packets[i].direction == packets[packet].direction && carried[i].ack_eliciting &&
        packets[i].sent + kReaction < packets[packet].sent)
      return packets[i].sent;
  return std::nullopt;
}

/// True if the sender waited for an acknowledgement of TCP payload before it sent this packet. With no window to send
/// more at once, a tail loss probe carries what was not sent before (RFC 8985 section 7.3).
bool waits_for_acknowledgement(const Dissection& dissection, std::span<const ObservedPacket> packets, std::uint32_t packet) {
  const auto& probe = dissection.segments[dissection.packets[packet].segment];
  for (auto i = packet; i-- > 0;) {
    const auto index = dissection.packets[i].segment;
    if (index == dissect::kNone || !packets[i].delivered || *packets[i].delivered > packets[packet].sent) continue;
    const auto& segment = dissection.segments[index];
    // The newest acknowledgement that had come is the highest, but for reordering.
    if (segment.connection == probe.connection && segment.direction != probe.direction && (segment.flags & dissect::kTcpAck) != 0)
      return static_cast<std::int32_t>(probe.sequence - segment.acknowledgment) > 0;
  }
  return false;
}

Timer pto_of(const std::optional<Epoch>& space) {
  if (space == Epoch::Initial) return Timer::PtoInitial;
  if (space == Epoch::Handshake) return Timer::PtoHandshake;
  return Timer::PtoApplication;
}

std::optional<Timer> tcp_timer(const Dissection& dissection, std::span<const ObservedPacket> packets,
                               const std::vector<Carried>& carried, const Wait& wait, Duration round_trip) {
  const auto& here = carried[wait.packet];
  const auto& segment = dissection.segments[dissection.packets[wait.packet].segment];
  if (here.syn) {
    if (!here.repeated) return std::nullopt;
    return segment.direction == Direction::ToServer ? Timer::SynRetransmission : Timer::SynAckRetransmission;
  }
  if (segment.payload_length == 0 && !here.fin) return Timer::DelayedAck;
  const auto length = packets[wait.packet].sent - wait.begin;
  if (!here.repeated) {
    const bool is_probe = length >= round_trip * 3 / 2 && waits_for_acknowledgement(dissection, packets, wait.packet);
    return is_probe ? std::optional(Timer::TailLossProbe) : std::nullopt;
  }
  if (wait.before && carried[*wait.before].has_ack && length <= round_trip / 2) return Timer::LossDelay;
  const auto last = last_eliciting(packets, carried, wait.packet);
  const auto since = last ? packets[wait.packet].sent - *last : length;
  return since < kLeastRto ? Timer::TailLossProbe : Timer::RetransmissionTimeout;
}

std::optional<Timer> quic_timer(std::span<const ObservedPacket> packets, const std::vector<Carried>& carried,
                                const Wait& wait, Duration round_trip) {
  const auto& here = carried[wait.packet];
  if (!here.ack_eliciting) return here.has_ack ? std::optional(Timer::DelayedAck) : std::nullopt;
  // A probe has data that went before, or nothing but a PING.
  if (!here.repeated && here.new_data && !wait.is_timeout) return std::nullopt;
  const auto length = packets[wait.packet].sent - wait.begin;
  if (here.repeated && wait.before && carried[*wait.before].has_ack && length <= round_trip / 4) return Timer::LossDelay;
  return pto_of(here.space);
}

std::optional<Timer> timer_of(const Dissection& dissection, std::span<const ObservedPacket> packets,
                              const std::vector<Carried>& carried, const Wait& wait, Duration round_trip) {
  if (dissection.packets[wait.packet].segment != dissect::kNone)
    return tcp_timer(dissection, packets, carried, wait, round_trip);
  if (carried[wait.packet].is_quic) return quic_timer(packets, carried, wait, round_trip);
  return wait.is_timeout ? std::optional(Timer::QueryRetransmission) : std::nullopt;
}

/// The packet with which the sender acknowledged what it had, and nothing else, long before it sent this one.
std::optional<std::uint32_t> acknowledged_early(std::span<const ObservedPacket> packets, const std::vector<Carried>& carried,
                                                const Wait& wait) {
  for (std::uint32_t i = 0; i < wait.packet; ++i) {
    const auto& here = packets[i];
    if (here.direction != packets[wait.packet].direction || here.sent < wait.begin) continue;
    if (packets[wait.packet].sent - here.sent <= kMostComputing) return std::nullopt;
    if (carried[i].has_ack && !carried[i].ack_eliciting) return i;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Timer timer) { return kTimers[static_cast<std::size_t>(timer)].json; }
std::string_view display_name(Timer timer) { return kTimers[static_cast<std::size_t>(timer)].display; }

WaitCause classify_wait(const Dissection& dissection, std::span<const ObservedPacket> packets,
                        const std::vector<Carried>& carried, const Wait& wait, Duration round_trip) {
  WaitCause out;
  const auto length = packets[wait.packet].sent - wait.begin;
  if (length <= kReaction && !wait.is_timeout) return out;
  out.timer = timer_of(dissection, packets, carried, wait, round_trip);
  if (out.timer) out.kind = SpanKind::Timer;
  else if ((out.acknowledgement = acknowledged_early(packets, carried, wait))) out.kind = SpanKind::ThinkTime;
  else if (length > kMostComputing) out.kind = SpanKind::Unexplained;
  return out;
}

}  // namespace doxlab::trace
