#include "trace/causes.hpp"

#include <algorithm>
#include <array>

#include "trace/amplification.hpp"
#include "trace/retransmission.hpp"
#include "trace/waits.hpp"

namespace doxlab::trace {
namespace {

using dissect::Dissection;
using dissect::ObservedPacket;
using link::Direction;

/// A transit that is longer than the delay by no more than this is the link's own jitter.
constexpr auto kLinkJitter = 1ms;

struct NeedNames {
  std::string_view json, display;
};
constexpr std::array<NeedNames, 12> kNeeds{{{"tcp_handshake", "TCP handshake"},
                                            {"tls_handshake", "TLS handshake"},
                                            {"quic_handshake", "QUIC handshake"},
                                            {"retry", "Retry"},
                                            {"version_negotiation", "Version Negotiation"},
                                            {"hello_retry_request", "HelloRetryRequest"},
                                            {"amplification_limit", "amplification limit"},
                                            {"congestion_window", "congestion window"},
                                            {"certificate_fetch", "DNSCrypt certificate"},
                                            {"truncation", "truncated answer"},
                                            {"loss_recovery", "loss recovery"},
                                            {"query", "query"}}};

struct PathPackets {
  const Dissection& dissection;
  std::span<const ObservedPacket> packets;
  const std::vector<Carried>& carried;
};

/// Why the answer to `q`, which was `r`, took a round trip.
Need need_of(const PathPackets& all, std::uint32_t q, std::uint32_t r, bool is_last) {
  const auto& asked = all.carried[q];
  const auto& came = all.carried[r];
  if (came.retry) return Need::Retry;
  if (came.version_negotiation) return Need::VersionNegotiation;
  if (is_last) return Need::Query;
  if (came.syn && !came.server_hello) return Need::TcpHandshake;
  if (came.hello_retry_request) return Need::HelloRetryRequest;
  if (came.certificate_answer) return Need::CertificateFetch;
  if (came.truncated_answer) return Need::Truncation;
  const auto handshake = came.is_quic ? Need::QuicHandshake : Need::TlsHandshake;
  if (came.server_hello) return handshake;
  if (came.is_quic && came.new_handshake && is_beyond_limit(all.dissection, all.packets, all.carried, q, r))
    return Need::AmplificationLimit;
  // Whatever of its flight answers a ClientHello came with it, be it the SETTINGS that a server may send at once
  // (0.5-RTT data, RFC 9001 section 4.1.1).
  if (asked.client_hello && (came.new_handshake || came.repeated || came.new_data)) return handshake;
  if (came.new_data && !asked.new_data && !asked.repeated) return Need::CongestionWindow;
  if (!came.new_data) return Need::LossRecovery;
  return came.new_handshake ? handshake : Need::Query;
}

/// A packet that arrived, and the sends of the same octets that led to it, each after the timer of the one before ran
/// out; the last is the packet itself.
struct Step {
  std::vector<std::uint32_t> sends;
  std::uint32_t packet() const { return sends.back(); }
};

class Builder {
 public:
  Builder(const PathPackets& all, Timestamp started, Timestamp answered, std::optional<Duration> one_way_delay)
      : all_(all), started_(started), answered_(answered), one_way_delay_(one_way_delay),
        round_trip_(shortest_round_trip(all.packets)) {}

  std::optional<Causes> build() {
    const auto steps = walk_back();
    if (steps.empty()) return std::nullopt;
    Causes out;
    auto at = started_;
    std::optional<std::uint32_t> before;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      add_waits(out.spans, at, steps[i], before);
      const auto first = i - i % 2;
      const auto q = steps[first].packet(), r = steps[first + 1].packet();
      const auto need = need_of(all_, q, r, first + 2 == steps.size());
      if (i % 2 == 1) {
        out.round_trips.push_back({need, q, r});
        if (need == Need::AmplificationLimit && !out.stall)
          out.stall = describe_stall(all_.dissection, all_.packets, all_.carried, q, r);
      }
      before = steps[i].packet();
      add_transit(out.spans, *before, need);
      at = *all_.packets[*before].delivered;
    }
    if (answered_ > at)
      out.spans.push_back({.kind = SpanKind::Computing, .direction = Direction::ToServer, .begin = at, .end = answered_,
                           .packets = {*before}});
    return out;
  }

 private:
  /// From the answer to the start, in order of time. Empty: no chain leads there.
  std::vector<Step> walk_back() const {
    std::vector<Step> steps;
    auto at = answered_;
    auto direction = Direction::ToClient;
    while (const auto found = last_delivered(all_.packets, direction, at)) {
      Step step{{static_cast<std::uint32_t>(*found)}};
      while (const auto original =
                 timed_out(all_.dissection, all_.packets, all_.carried, step.sends.front(), started_, round_trip_))
        step.sends.insert(step.sends.begin(), *original);
      at = all_.packets[step.sends.front()].sent;
      steps.push_back(std::move(step));
      direction = link::opposite(direction);
    }
    // The chain must begin with a packet of the client: no server speaks first.
    if (steps.size() % 2 != 0) return {};
    std::ranges::reverse(steps);
    return steps;
  }

  void add_waits(std::vector<Span>& spans, Timestamp begin, const Step& step, std::optional<std::uint32_t> before) const {
    for (const auto packet : step.sends) {
      const bool is_timeout = packet != step.sends.front();
      if (all_.packets[packet].sent > begin)
        spans.push_back(wait_span({begin, packet, is_timeout ? std::nullopt : before, is_timeout}));
      begin = all_.packets[packet].sent;
    }
  }

  Span wait_span(const Wait& wait) const {
    const auto& here = all_.packets[wait.packet];
    Span out{.direction = *here.direction, .begin = wait.begin, .end = here.sent};
    const auto cause = classify_wait(all_.dissection, all_.packets, all_.carried, wait, round_trip_);
    out.kind = cause.kind;
    out.timer = cause.timer;
    // The evidence: what was lost in either direction and so kept the timer from being stopped.
    if (out.kind != SpanKind::Computing && out.kind != SpanKind::ThinkTime)
      for (std::uint32_t i = 0; i < wait.packet; ++i)
        if (all_.packets[i].direction && !all_.packets[i].delivered && all_.packets[i].sent + round_trip_ >= wait.begin)
          out.packets.push_back(i);
    if (cause.acknowledgement) out.packets.push_back(*cause.acknowledgement);
    out.packets.push_back(wait.packet);
    return out;
  }

  void add_transit(std::vector<Span>& spans, std::uint32_t packet, Need need) const {
    const auto& here = all_.packets[packet];
    const auto arrived = *here.delivered;
    auto end = arrived;
    if (one_way_delay_ && arrived - here.sent > *one_way_delay_ + kLinkJitter) end = here.sent + *one_way_delay_;
    spans.push_back({.kind = SpanKind::Transit, .need = need, .direction = *here.direction, .begin = here.sent,
                     .end = end, .packets = {packet}});
    if (end < arrived)
      spans.push_back({.kind = SpanKind::Queue, .direction = *here.direction, .begin = end, .end = arrived,
                       .packets = {packet}});
  }

  const PathPackets& all_;
  Timestamp started_, answered_;
  std::optional<Duration> one_way_delay_;
  Duration round_trip_;
};

}  // namespace

std::string_view to_string(Need need) { return kNeeds[static_cast<std::size_t>(need)].json; }
std::string_view display_name(Need need) { return kNeeds[static_cast<std::size_t>(need)].display; }

std::string cause_name(const Span& span) {
  switch (span.kind) {
    case SpanKind::Transit: return std::string(to_string(*span.need));
    case SpanKind::Timer: return std::string(to_string(*span.timer));
    case SpanKind::Queue: return "queue";
    case SpanKind::Computing: return span.is_at_client() ? "client_computing" : "server_computing";
    case SpanKind::ThinkTime: return span.is_at_client() ? "client_think_time" : "server_think_time";
    case SpanKind::Unexplained: break;
  }
  return "unexplained";
}

std::string cause_display_name(const Span& span) {
  switch (span.kind) {
    case SpanKind::Transit: return std::string(display_name(*span.need));
    case SpanKind::Timer: return std::string(display_name(*span.timer));
    case SpanKind::Queue: return "queue on the link";
    case SpanKind::Computing: return span.is_at_client() ? "computing, client" : "computing, server";
    case SpanKind::ThinkTime: return span.is_at_client() ? "think time, client" : "think time, server";
    case SpanKind::Unexplained: break;
  }
  return "unexplained";
}

std::vector<std::string> cause_names() {
  std::vector<std::string> out;
  for (const auto& names : kNeeds) out.emplace_back(names.json);
  for (std::size_t i = 0; i < kTimerCount; ++i) out.emplace_back(to_string(static_cast<Timer>(i)));
  for (const char* name : {"queue", "client_computing", "server_computing", "client_think_time", "server_think_time", "unexplained"})
    out.emplace_back(name);
  return out;
}

bool Causes::is_explained() const {
  return std::ranges::none_of(spans, [](const Span& span) { return span.kind == SpanKind::Unexplained; });
}

Duration Causes::sum() const {
  Duration out{};
  for (const auto& span : spans) out += span.length();
  return out;
}

std::optional<Causes> find_causes(const Dissection& dissection, std::span<const ObservedPacket> packets,
                                  Timestamp started, Timestamp answered, std::optional<Duration> one_way_delay) {
  // What went before the start belongs to no hop: only packets of this lookup count.
  std::vector<ObservedPacket> counted(packets.begin(), packets.end());
  for (auto& packet : counted)
    if (packet.sent < started || !packet.direction) {
      packet.delivered.reset();
      packet.direction.reset();
    }
  const auto carried = what_they_carried(dissection);
  return Builder({dissection, counted, carried}, started, answered, one_way_delay).build();
}

}  // namespace doxlab::trace
