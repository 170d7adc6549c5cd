#include "experiment/recovery.hpp"

#include <algorithm>
#include <format>
#include <optional>
#include <vector>

#include "trace/carried.hpp"

namespace doxlab::experiment {
namespace {

using namespace dissect;

constexpr std::uint8_t kSyn = 2;

bool overlap(const ByteRange& a, const ByteRange& b) {
  return a.begin < b.end && b.begin < a.end;
}

/// The frames of a packet that carry data, each with the epoch of its keys.
std::vector<std::pair<const QuicFrame*, Epoch>> data_frames(const Dissection& dissection, const DissectedPacket& packet) {
  std::vector<std::pair<const QuicFrame*, Epoch>> out;
  for (auto q = packet.first_quic_packet; q < packet.first_quic_packet + packet.quic_packets; ++q) {
    const auto& quic = dissection.quic_packets[q];
    for (auto f = quic.first_frame; f < quic.first_frame + quic.frames; ++f)
      if (dissection.quic_frames[f].has_data()) out.emplace_back(&dissection.quic_frames[f], epoch_of(quic.type));
  }
  return out;
}

bool same_octets(const std::pair<const QuicFrame*, Epoch>& a, const std::pair<const QuicFrame*, Epoch>& b) {
  const auto &one = *a.first, &other = *b.first;
  if (one.is_stream() != other.is_stream() || one.stream_id != other.stream_id) return false;
  if (!one.is_stream() && a.second != b.second) return false;
  return overlap({one.stream_offset, one.stream_end()}, {other.stream_offset, other.stream_end()});
}

/// True if `later` carries again what `lost` carried: a SYN, octets of the same stream, the same datagram.
bool carries_again(const Dissection& dissection, std::size_t lost, std::size_t later) {
  const auto& a = dissection.packets[lost];
  const auto& b = dissection.packets[later];
  if (a.direction != b.direction || a.protocol != b.protocol) return false;
  if (a.segment != kNone && b.segment != kNone) {
    const auto& one = dissection.segments[a.segment];
    const auto& other = dissection.segments[b.segment];
    if ((one.flags & kSyn) != 0) return (other.flags & kSyn) != 0;
    return one.connection == other.connection && one.stream_offset && other.stream_offset &&
           overlap(one.stream_range(), other.stream_range());
  }
  if (a.quic_packets == 0) return b.quic_packets == 0 && a.ip_bytes == b.ip_bytes;
  const auto later_frames = data_frames(dissection, b);
  return std::ranges::any_of(data_frames(dissection, a), [&](const auto& one) {
    return std::ranges::any_of(later_frames, [&](const auto& other) { return same_octets(one, other); });
  });
}

bool is_wait(const trace::Span& span) {
  return span.kind == trace::SpanKind::Timer || span.kind == trace::SpanKind::Unexplained;
}

/// What the lookup waited for, and round trips that a lookup without losses does not need.
std::string waits_text(const trace::Causes& causes, const Needs& usual) {
  std::string out;
  for (const auto& span : causes.spans)
    if (is_wait(span)) out += std::format("; {} {:.1f} ms", trace::cause_display_name(span), to_ms(span.length()));
  for (const auto& [need, trips] : needs_of(causes)) {
    const auto known = usual.find(need);
    if (trips <= (known == usual.end() ? 0 : known->second)) continue;
    out += need == trace::Need::LossRecovery ? "; a round trip that told of the loss"
                                             : std::format("; a round trip more for {}", trace::display_name(need));
  }
  return out;
}

}  // namespace

Needs needs_of(const trace::Causes& causes) {
  Needs out;
  for (const auto& trip : causes.round_trips) ++out[trip.need];
  return out;
}

std::string describe_recovery(const Dissection& dissection, std::span<const ObservedPacket> packets, std::size_t lost,
                              const trace::Causes* causes, const Needs& usual) {
  const auto waits = causes == nullptr ? std::string() : waits_text(*causes, usual);
  const auto carried = trace::what_it_carried(dissection, lost);
  const auto& packet = dissection.packets[lost];
  if ((packet.segment != kNone || packet.quic_packets > 0) && !carried.ack_eliciting)
    return "nothing in it to send again" + waits;
  for (auto i = lost + 1; i < packets.size(); ++i)
    if (carries_again(dissection, lost, i))
      return std::format("sent again after {:.1f} ms{}{}", to_ms(packets[i].sent - packets[lost].sent),
                         packets[i].delivered ? "" : ", and lost once more", waits);
  return "not sent again" + waits;
}

std::map<std::string, double> waits_ms(const trace::Causes& causes) {
  std::map<std::string, double> out;
  for (const auto& span : causes.spans)
    if (is_wait(span)) out[trace::cause_name(span)] += to_ms(span.length());
  return out;
}

}  // namespace doxlab::experiment
