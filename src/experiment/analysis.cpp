#include "experiment/analysis.hpp"

#include <format>
#include <stdexcept>

#include "trace/critical_path.hpp"

namespace doxlab::experiment {
namespace {

void check(bool holds, const Sample& sample, std::string_view what) {
  if (holds) return;
  throw std::logic_error(std::format("{}/{}: {}; please report this as a fault of doxlab",
                                     display_name(sample.task.transport), sample.task.sample, what));
}

bool is_equal(const trace::Amount& amount, const trace::Volume& to_server, const trace::Volume& to_client) {
  return amount.to_server == to_server.ip_bytes && amount.to_client == to_client.ip_bytes;
}

std::string fate_of(const capture::RecordedPacket& packet) {
  if (packet.duplicate) return "duplicate";
  if (packet.corrupted) return "corrupted";
  return std::string(link::to_string(packet.fate));
}

}  // namespace

Analysis analyse(const Sample& sample, const link::Impairments& link) {
  Analysis out;
  out.packets = sample.opening;
  out.packets.insert(out.packets.end(), sample.packets.begin(), sample.packets.end());
  out.observed = dissect::observe(out.packets);
  dissect::KeyLog keys;
  keys.add(sample.key_log);
  out.dissection = dissect::dissect(out.observed, keys);

  const auto& result = sample.result;
  if (result.answered) {
    const auto delay = sample.counting == Counting::Link ? std::optional(link.one_way_delay) : std::nullopt;
    out.causes = trace::find_causes(out.dissection, out.observed, result.started, *result.answered, delay);
    // No chain of packets leads from the answer to the start: all of it is unexplained.
    if (!out.causes)
      out.causes = {.spans = {{.kind = trace::SpanKind::Unexplained, .begin = result.started, .end = *result.answered}}};
    check(out.causes->sum() == *result.answered - result.started, sample,
          "the spans of its time do not sum to it");
  }

  const auto path = result.answered ? trace::critical_path(sample.packets, result.started, *result.answered) : std::nullopt;
  const auto cut = trace::cut_at_answer(sample.packets, path);
  const auto counts = [&](std::size_t i, bool before) {
    if (i < sample.opening.size() || out.packets[i].duplicate) return false;
    return cut.is_before(out.packets[i]) == before;
  };
  out.until_answer = trace::count_ledger(out.dissection, [&](std::size_t i) { return counts(i, true); });
  out.after_answer = trace::count_ledger(out.dissection, [&](std::size_t i) { return counts(i, false); });
  const auto volumes = trace::count_volumes(sample.packets, cut);
  check(is_equal(out.until_answer.total(), volumes.to_server, volumes.to_client) &&
            is_equal(out.after_answer.total(), volumes.to_server_after, volumes.to_client_after),
        sample, "the owners of its bytes do not sum to what was recorded");

  trace::Observation observation{.answered = result.answered, .sees_both_ends = sample.counting == Counting::Link};
  for (std::uint32_t i = 0; i < out.packets.size(); ++i)
    if (out.packets[i].fate == link::Fate::TooBig) observation.too_big.push_back(i);
  out.findings = trace::detect(out.dissection, out.observed, out.causes ? &*out.causes : nullptr, observation);
  return out;
}

std::map<std::string, double> causes_ms(const Analysis& analysis) {
  std::map<std::string, double> out;
  if (analysis.causes)
    for (const auto& span : analysis.causes->spans) out[trace::cause_name(span)] += to_ms(span.length());
  return out;
}

std::map<std::string, results::OwnedBytes> ledger_rows(const trace::Ledger& until_answer, const trace::Ledger& after) {
  std::map<std::string, results::OwnedBytes> out;
  for (std::size_t i = 0; i < trace::kOwners; ++i) {
    const auto owner = static_cast<trace::Owner>(i);
    const auto& before = until_answer[owner];
    const auto& behind = after[owner];
    if (before.total() + behind.total() == 0) continue;
    out[std::string(trace::to_string(owner))] = {before.to_server, before.to_client, behind.to_server, behind.to_client,
                                                 before.repeated + behind.repeated};
  }
  return out;
}

results::ExplainedStall describe_stall(const trace::AmplificationStall& stall) {
  return {stall.received, stall.budget, stall.sent, stall.flight, stall.shortfall};
}

void describe(results::Explanation& out, const std::optional<trace::Causes>& causes,
              const std::vector<trace::Detected>& findings, Timestamp started) {
  for (const auto& found : findings)
    out.findings.push_back({std::string(trace::to_string(found.finding)), found.sentence, found.packets});
  if (!causes) return;
  for (const auto& span : causes->spans) {
    const bool on_link = span.kind == trace::SpanKind::Transit || span.kind == trace::SpanKind::Queue;
    out.spans.push_back({.cause = trace::cause_name(span),
                         .name = trace::cause_display_name(span),
                         .at = on_link ? std::string(to_string(span.direction)) : span.is_at_client() ? "client" : "server",
                         .begin_ms = to_ms(span.begin - started),
                         .ms = to_ms(span.length()),
                         .packets = span.packets});
  }
  for (const auto& trip : causes->round_trips)
    out.round_trips.push_back({std::string(trace::to_string(trip.need)), trip.to_server, trip.to_client});
  if (causes->stall) out.stall = describe_stall(*causes->stall);
}

results::Explanation explain(const Sample& sample, const Analysis& analysis) {
  results::Explanation out;
  const auto& result = sample.result;
  out.what = std::format("{}/{}", display_name(sample.task.transport), sample.task.sample);
  out.transport = display_name(sample.task.transport);
  out.outcome = client::to_string(result.outcome);
  out.reason = result.reason;
  if (result.answered) out.ms = to_ms(*result.answered - result.started);
  describe(out, analysis.causes, analysis.findings, result.started);
  out.ledger = ledger_rows(analysis.until_answer, analysis.after_answer);
  const auto since_start = [&](Timestamp when) { return to_ms(when - result.started); };
  for (std::size_t i = 0; i < analysis.packets.size(); ++i) {
    const auto& packet = analysis.packets[i];
    auto& record = out.packets.emplace_back();
    record.direction = link::to_string(packet.place.direction);
    record.sent_ms = since_start(packet.sent);
    if (packet.delivered) record.delivered_ms = since_start(*packet.delivered);
    record.fate = fate_of(packet);
    record.ip_bytes = packet.bytes.size();
    record.carried = trace::describe_packet(analysis.dissection, i);
  }
  return out;
}

}  // namespace doxlab::experiment
