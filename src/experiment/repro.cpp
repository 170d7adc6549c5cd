#include "experiment/repro.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <format>

#include "experiment/analysis.hpp"
#include "experiment/describe.hpp"
#include "experiment/dropmap.hpp"
#include "experiment/foreign_server.hpp"
#include "experiment/sampler.hpp"
#include "stats/proportion.hpp"

namespace doxlab::experiment {
namespace {

using results::ReproCell;
using results::ScriptedLoss;

constexpr std::size_t kSmallChain = 1200, kChain = 3900, kLongChain = 10500;
constexpr double kLosses[] = {0, 0.02, 0.08, 0.15};
constexpr const char* kPostQuantum = "*X25519MLKEM768:*X25519";
constexpr const char* kClassical = "*X25519";
/// Loss from which on the published rates are so high that few handshakes can tell.
constexpr double kTellingLossPercent = 8;
/// Failed handshakes that are taken apart, of each cell.
constexpr std::size_t kAnalysed = 50;
/// A packet's number may differ from run to run: an acknowledgement may go before it, or with it.
constexpr int kScriptAttempts = 5;

struct Published {
  std::size_t chain_bytes;
  double loss_percent;
  bool post_quantum;
  std::uint64_t failed, handshakes;
};
/// Of stock nginx 1.31.5, 20 ms each way, no handshake within 10 s. Source: discussion of nginx pull request 1617; the
/// classical and the small-chain control were published without a breakdown by loss.
constexpr Published kPublished[] = {{kChain, 0, true, 0, 200},      {kChain, 2, true, 8, 200},
                                    {kChain, 8, true, 30, 200},     {kChain, 15, true, 49, 200},
                                    {kLongChain, 2, true, 4, 200},  {kLongChain, 8, true, 32, 200},
                                    {kLongChain, 8, false, 0, 100}, {kSmallChain, 8, true, 0, 150}};

bool has_failed(const Sample& sample) { return !sample.result.secured; }

/// The sentence of the fault, or nothing: lost Initial CRYPTO data of the server that it never sent again.
std::string fault_in(const Analysis& analysis) {
  for (const auto& found : analysis.findings)
    if (found.finding == trace::Finding::LostCryptoNotResent && !found.packets.empty() &&
        analysis.packets[found.packets.front()].place.direction == link::Direction::ToClient &&
        found.sentence.contains("Initial"))
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

/// Places of the server's packets with Initial CRYPTO data, as it sent them first.
std::vector<std::uint64_t> initial_crypto_packets(const Analysis& analysis) {
  std::vector<std::uint64_t> out;
  for (std::uint32_t i = 0; i < analysis.packets.size(); ++i) {
    const auto& place = analysis.packets[i].place;
    if (place.direction == link::Direction::ToClient && carries_initial_crypto(analysis, i)) out.push_back(place.index);
  }
  return out;
}

class Repro {
 public:
  Repro(const Setup& setup, const ReproOptions& options, const Progress& progress, std::stop_token stop,
        results::ReproRun& run)
      : setup_(setup), options_(options), progress_(progress), stop_(std::move(stop)), run_(run) {
    setup_.transports = {Transport::Doh3};
    setup_.link.duplicate_probability = setup_.link.corrupt_probability = setup_.link.reorder_probability = 0;
    setup_.link.burst.reset();
  }

  bool measure_cells();
  bool measure_scripted();
  void decide();

 private:
  bool measure(ReproCell cell);
  std::optional<Sample> one_lookup(Rig& rig, std::uint64_t sample);
  bool lose(Setup setup, const std::vector<std::uint64_t>& packets);

  Setup setup_;
  const ReproOptions& options_;
  const Progress& progress_;
  std::stop_token stop_;
  results::ReproRun& run_;
  std::size_t done_ = 0, of_ = 0;
};

bool Repro::measure_cells() {
  std::vector<ReproCell> cells;
  for (const auto chain : {kChain, kLongChain, kSmallChain})
    for (const double loss : kLosses)
      for (const bool post_quantum : {true, false}) {
        ReproCell cell{.chain_bytes = chain, .loss_percent = loss * 100, .post_quantum = post_quantum};
        for (const auto& known : kPublished) {
          if (known.chain_bytes != chain || known.loss_percent != cell.loss_percent || known.post_quantum != post_quantum)
            continue;
          cell.published_failed = known.failed;
          cell.published_handshakes = known.handshakes;
        }
        cells.push_back(cell);
      }
  of_ = cells.size() * options_.repetitions;
  return std::ranges::all_of(cells, [this](const ReproCell& cell) { return measure(cell); });
}

bool Repro::measure(ReproCell cell) {
  options_.on_cell(std::format("chain of {} bytes, {:g}% loss, {}", cell.chain_bytes, cell.loss_percent,
                               cell.post_quantum ? "post-quantum" : "classical"));
  auto setup = setup_;
  setup.chain.chain_bytes = cell.chain_bytes;
  setup.link.loss_probability = cell.loss_percent / 100;
  setup.client_groups = cell.post_quantum ? kPostQuantum : kClassical;
  Rig rig(setup);
  std::vector<Task> tasks;
  for (std::uint64_t sample = 0; sample < options_.repetitions; ++sample) tasks.push_back({Transport::Doh3, sample});
  // Kept and taken apart afterwards: computing would disturb the others.
  std::vector<Sample> failed;
  const bool finished = run_sampler(
      rig, tasks, {},
      [&](Sample&& sample) {
        if (sample.disturbed) return;
        ++cell.handshakes;
        if (!has_failed(sample)) return;
        ++cell.failed;
        if (failed.size() < kAnalysed) failed.push_back(std::move(sample));
      },
      [&](const SamplerStatus& status) {
        if (progress_) progress_(done_ + status.done, of_);
      },
      stop_);
  done_ += options_.repetitions;
  std::ranges::sort(failed, {}, [](const Sample& sample) { return sample.task.sample; });
  bool is_first_with_fault = std::ranges::none_of(run_.cells, [](const auto& other) { return other.with_fault > 0; });
  for (const auto& sample : failed) {
    const auto analysis = analyse(sample, setup.link);
    const bool has_fault = !fault_in(analysis).empty();
    cell.with_fault += has_fault;
    // One with the fault tells more than one that merely lost too much.
    if (run_.first_failure && !(has_fault && is_first_with_fault)) continue;
    run_.first_failure = explain(sample, analysis);
    run_.server_log = rig.server_log();
    if (options_.on_failure) options_.on_failure(sample);
    is_first_with_fault = is_first_with_fault && !has_fault;
  }
  const auto interval = stats::clopper_pearson(cell.failed, cell.handshakes);
  cell.failed_low = interval.low;
  cell.failed_high = interval.high;
  run_.cells.push_back(cell);
  run_.environment = describe_environment(rig.lab());
  return finished;
}

std::optional<Sample> Repro::one_lookup(Rig& rig, std::uint64_t sample) {
  const Task task{Transport::Doh3, sample};
  std::optional<Sample> out;
  run_sampler(rig, {&task, 1}, {}, [&](Sample&& made) { out = std::move(made); }, {}, stop_);
  return out;
}

bool Repro::measure_scripted() {
  for (const auto chain : {kChain, kLongChain}) {
    options_.on_cell(std::format("chosen losses, chain of {} bytes", chain));
    auto setup = setup_;
    setup.chain.chain_bytes = chain;
    setup.link.loss_probability = 0;
    setup.client_groups = kPostQuantum;
    std::vector<std::uint64_t> packets;
    {
      Rig rig(setup);
      const auto reference = one_lookup(rig, 0);
      if (!reference) return false;
      packets = initial_crypto_packets(analyse(*reference, setup.link));
    }
    for (const auto packet : packets)
      if (!lose(setup, {packet})) return false;
  }
  return true;
}

/// One lookup in which exactly these packets of the server are lost.
bool Repro::lose(Setup setup, const std::vector<std::uint64_t>& packets) {
  for (const auto index : packets)
    for (std::uint64_t sample = 0; sample < kScriptAttempts; ++sample)
      setup.link.script.push_back({.place = {sample, link::Direction::ToClient, index}});
  Rig rig(setup);
  for (std::uint64_t attempt = 0; attempt < kScriptAttempts; ++attempt) {
    const auto sample = one_lookup(rig, attempt);
    if (!sample) return false;
    const auto analysis = analyse(*sample, setup.link);
    const auto explanation = explain(*sample, analysis);
    ScriptedLoss out{.transport = "doh3", .chain_bytes = setup.chain.chain_bytes, .completed = !has_failed(*sample), .finding = fault_in(analysis)};
    bool is_right = true;
    for (std::uint32_t i = 0; i < analysis.packets.size(); ++i) {
      if (analysis.packets[i].fate != link::Fate::Scripted) continue;
      is_right = is_right && carries_initial_crypto(analysis, i);
      out.packets.push_back(std::format("server packet {}: {}", analysis.packets[i].place.index, explanation.packets[i].carried));
    }
    if (out.packets.empty() || !is_right) continue;
    if (sample->result.secured) out.handshake_ms = to_ms(*sample->result.secured - sample->result.started);
    if (!out.completed && !run_.first_failure) {
      run_.first_failure = explanation;
      run_.server_log = rig.server_log();
      if (options_.on_failure) options_.on_failure(*sample);
    }
    run_.scripted.push_back(std::move(out));
    return true;
  }
  return true;  // no such packet was sent: nothing to say of it
}

/// Handshakes without a failure whose interval excludes a rate.
std::uint64_t handshakes_to_exclude(double rate) {
  return static_cast<std::uint64_t>(std::ceil(std::log(0.025) / std::log1p(-rate)));
}

void Repro::decide() {
  std::uint64_t with_fault = 0, failed = 0, needed = 0;
  bool excluded = true;
  for (const auto& cell : run_.cells) {
    with_fault += cell.with_fault;
    if (!cell.published_failed || *cell.published_failed == 0 || cell.loss_percent < kTellingLossPercent) continue;
    failed += cell.failed;
    const auto published = stats::clopper_pearson(*cell.published_failed, *cell.published_handshakes);
    if (cell.failed_high < published.low) continue;
    excluded = false;
    needed = std::max(needed, handshakes_to_exclude(published.low));
  }
  const auto fatal = std::ranges::count_if(run_.scripted, [](const auto& loss) { return !loss.completed && !loss.finding.empty(); });
  if (with_fault > 0 || fatal > 0) {
    run_.verdict = "affected";
    run_.reason = std::format("in {} handshakes under random loss and in {} of {} with a chosen loss the server never sent lost "
                              "Initial CRYPTO data again", with_fault, fatal, run_.scripted.size());
  } else if (!run_.complete || run_.scripted.empty()) {
    run_.verdict = "not decided";
    run_.reason = "the run did not come to its end";
  } else if (excluded && std::ranges::all_of(run_.scripted, &ScriptedLoss::completed)) {
    run_.verdict = "not affected";
    run_.reason = std::format("every chosen loss of Initial CRYPTO data was made good ({} of {}), and the published rates at "
                              "{:g}% loss and more are excluded", run_.scripted.size(), run_.scripted.size(), kTellingLossPercent);
  } else {
    run_.verdict = "not decided";
    run_.reason = failed > 0 ? "handshakes failed, but not by this fault" : "too few handshakes to exclude the published rates";
    // With failures that have another reason, four times as many tell the rates apart.
    run_.handshakes_needed = std::max<std::uint64_t>(needed, failed > 0 ? 4 * options_.repetitions : options_.repetitions + 1);
  }
}

std::string now_text() {
  return std::format("{:%FT%TZ}", std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
}

}  // namespace

results::ReproRun run_repro_1616(const Setup& setup, const ReproOptions& options, const std::string& command_line,
                                 const Progress& progress, std::stop_token stop) {
  if (setup.subject && !setup.subject->ports.contains(Transport::Doh3))
    throw std::invalid_argument(std::format("{} does not offer doh3", subject_title(setup)));
  results::ReproRun run;
  run.fault = "nginx-1616";
  run.command_line = command_line;
  run.started = now_text();
  run.endpoints = describe_endpoints(setup);
  const auto begin = monotonic_now();
  Repro repro(setup, options, progress, std::move(stop), run);
  run.complete = repro.measure_cells() && repro.measure_scripted();
  repro.decide();
  run.duration_s = to_ms(monotonic_now() - begin) / 1000;
  return run;
}

results::ReproRun find_fatal_losses(const Setup& setup, bool pairs, const std::string& command_line,
                                    const Progress& progress, std::stop_token stop) {
  results::ReproRun run;
  run.fault = "find";
  run.command_line = command_line;
  const auto map = run_dropmap(setup, {.repetitions = 1, .references = 3, .pairs = pairs}, command_line, progress, std::move(stop));
  run.started = map.started;
  run.duration_s = map.duration_s;
  run.complete = map.complete;
  run.environment = map.environment;
  run.endpoints = map.endpoints;
  std::size_t rows = 0, unanswered = 0;
  for (const auto& [name, summary] : map.results) {
    unanswered += !summary.reference.ms;
    for (const auto* list : {&summary.rows, &summary.pairs})
      for (const auto& row : *list) {
        ++rows;
        if (row.no_answer == 0) continue;
        ScriptedLoss loss{.transport = name, .chain_bytes = setup.chain.chain_bytes, .finding = row.reason};
        for (const auto& packet : row.packets)
          loss.packets.push_back(std::format("{} packet {}: {}", packet.direction == "c2s" ? "client" : "server", packet.index, packet.carried));
        run.scripted.push_back(std::move(loss));
      }
  }
  if (!run.scripted.empty()) {
    run.verdict = "affected";
    run.reason = std::format("{} of {} chosen losses end the lookup", run.scripted.size(), rows);
  } else if (!run.complete || unanswered > 0) {
    run.verdict = "not decided";
    run.reason = unanswered > 0 ? "a transport gave no answer even without losses" : "the run did not come to its end";
  } else {
    run.verdict = "not affected";
    run.reason = std::format("none of {} chosen losses ends the lookup", rows);
  }
  return run;
}

}  // namespace doxlab::experiment
