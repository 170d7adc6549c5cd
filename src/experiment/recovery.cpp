#include "experiment/recovery.hpp"

#include <algorithm>
#include <format>
#include <optional>
#include <vector>

#include "trace/carried.hpp"
#include "trace/repeats.hpp"

namespace doxlab::experiment {
namespace {

using namespace dissect;

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
    if (trace::repeats(dissection, i, lost))
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
