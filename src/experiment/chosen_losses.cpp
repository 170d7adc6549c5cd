#include "experiment/chosen_losses.hpp"

#include <algorithm>
#include <format>

#include "experiment/sampler.hpp"

namespace doxlab::experiment {
namespace {

std::vector<link::Scripted> script_for(std::span<const LossSet> sets) {
  std::vector<link::Scripted> out;
  for (std::uint64_t set = 0; set < sets.size(); ++set)
    for (std::uint64_t attempt = 0; attempt < kLossAttempts; ++attempt)
      for (auto place : sets[set]) {
        place.sample = set * kLossAttempts + attempt;
        out.push_back({.place = place});
      }
  return out;
}

/// "c2s/0,s2c/1".
std::string drop_list(const LossSet& set) {
  std::string out;
  for (const auto& place : set)
    out += std::format("{}{}/{}", out.empty() ? "" : ",", place.direction == link::Direction::ToServer ? "c2s" : "s2c", place.index);
  return out;
}

/// What one lookup adds to the record of its set.
void add(TriedLoss& tried, const LossSet& set, Sample&& sample, const link::Impairments& link, const LossTrial& trial) {
  const auto analysis = analyse(sample, link);
  std::vector<std::uint32_t> lost;
  for (std::uint32_t i = 0; i < analysis.packets.size(); ++i)
    if (analysis.packets[i].fate == link::Fate::Scripted) lost.push_back(i);
  if (lost.size() != set.size() || !std::ranges::all_of(lost, [&](auto i) { return trial.is_meant(analysis, i); })) return;
  auto& record = tried.record;
  const bool failed = trial.has_failed(sample);
  if (record.attempts++ == 0 || (failed && record.failed == 0)) {
    const auto explanation = explain(sample, analysis);
    record.packets.clear();
    for (const auto i : lost)
      record.packets.push_back(std::format("{} packet {}: {}",
                                           analysis.packets[i].place.direction == link::Direction::ToClient ? "server" : "client",
                                           analysis.packets[i].place.index, explanation.packets[i].carried));
  }
  if (!failed) {
    if (const auto answered = sample.result.answered)
      record.slowest_ms = std::max(record.slowest_ms.value_or(0), to_ms(*answered - sample.result.started));
    return;
  }
  ++record.failed;
  const auto fault = fault_in(analysis);
  record.with_fault += !fault.empty();
  if (record.failed == 1)
    record.finding = !fault.empty() ? fault : analysis.findings.empty() ? sample.result.reason : analysis.findings.front().sentence;
  if (!tried.failure) tried.failure = std::move(sample);
}

}  // namespace

std::string fault_in(const Analysis& analysis) {
  for (const auto& found : analysis.findings)
    if (found.finding == trace::Finding::LostCryptoNotResent && !found.packets.empty() &&
        analysis.packets[found.packets.front()].place.direction == link::Direction::ToClient && found.sentence.contains("Initial"))
      return found.sentence;
  return {};
}

bool carries_initial_crypto(const Analysis& analysis, std::uint32_t packet) {
  return std::ranges::any_of(analysis.dissection.quic_frames, [&](const auto& frame) {
    if (frame.type != dissect::kFrameCrypto || frame.unit >= analysis.dissection.quic_packets.size()) return false;
    const auto& quic = analysis.dissection.quic_packets[frame.unit];
    return quic.packet == packet && quic.type == dissect::QuicPacketType::Initial;
  });
}

LossSet initial_crypto_packets(const Analysis& analysis) {
  LossSet out;
  for (std::uint32_t i = 0; i < analysis.packets.size(); ++i)
    if (analysis.packets[i].place.direction == link::Direction::ToClient && carries_initial_crypto(analysis, i))
      out.push_back(analysis.packets[i].place);
  return out;
}

std::vector<LossSet> subsets_of_losses(const Analysis& analysis) {
  LossSet lost;
  for (const auto& packet : analysis.packets)
    if (packet.fate == link::Fate::Lost && lost.size() < kMostReplayed) lost.push_back(packet.place);
  std::vector<LossSet> out;
  for (const auto& place : lost) out.push_back({place});
  for (std::size_t a = 0; a < lost.size(); ++a)
    for (auto b = a + 1; b < lost.size(); ++b) out.push_back({lost[a], lost[b]});
  if (lost.size() > 2) out.push_back(lost);
  return out;
}

std::optional<TriedLosses> try_losses(const Setup& setup, std::span<const LossSet> sets, const LossTrial& trial,
                                      const Progress& progress, std::stop_token stop) {
  auto scripted = setup;
  scripted.link.loss_probability = 0;
  scripted.link.script = script_for(sets);
  const auto transport = setup.transports.front();
  std::vector<Task> tasks;
  for (std::uint64_t sample = 0; sample < sets.size() * kLossAttempts; ++sample) tasks.push_back({transport, sample});
  std::vector<Sample> samples;  // taken apart afterwards: computing would disturb the others
  Rig rig(scripted);
  const bool finished = run_sampler(
      rig, tasks, {},
      [&](Sample&& sample) {
        if (!sample.disturbed) samples.push_back(std::move(sample));
      },
      [&](const SamplerStatus& status) {
        if (progress) progress(status.done, status.of);
      },
      std::move(stop));
  if (!finished) return std::nullopt;
  std::ranges::sort(samples, {}, [](const Sample& sample) { return sample.task.sample; });
  TriedLosses out{.each = std::vector<TriedLoss>(sets.size()), .server_log = rig.server_log()};
  for (std::size_t set = 0; set < sets.size(); ++set) {
    auto& record = out.each[set].record;
    record.drop = drop_list(sets[set]);
    record.transport = to_string(transport);
    record.client_groups = setup.client_groups;
    record.chain_bytes = setup.chain.chain_bytes;
  }
  for (auto& sample : samples) {
    const auto set = sample.task.sample / kLossAttempts;
    add(out.each[set], sets[set], std::move(sample), scripted.link, trial);
  }
  return out;
}

const TriedLoss* ends_every_time(std::span<const TriedLoss> tried) {
  const TriedLoss* best = nullptr;
  for (const auto& one : tried) {
    const auto& record = one.record;
    if (record.attempts < kFewestAttempts || record.failed < record.attempts) continue;
    const auto rank = [](const results::ScriptedLoss& r) { return std::pair(r.with_fault < r.failed, r.packets.size()); };
    if (best == nullptr || rank(record) < rank(best->record)) best = &one;
  }
  return best;
}

}  // namespace doxlab::experiment
