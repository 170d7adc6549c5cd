// Which losses end a lookup, of any server.
#include <algorithm>
#include <format>
#include <map>
#include <set>

#include "experiment/chosen_losses.hpp"
#include "experiment/dropmap.hpp"
#include "experiment/repro.hpp"

namespace doxlab::experiment {
namespace {

/// Sets of one transport that are tried again; what is beyond them is counted only.
constexpr std::size_t kMostTriedAgain = 64;

link::PacketPlace place_of(const results::DropmapPacket& packet) {
  return {.direction = packet.direction == "c2s" ? link::Direction::ToServer : link::Direction::ToClient, .index = packet.index};
}

/// The losses of a transport's map that ended a lookup, single ones first.
std::vector<LossSet> fatal_losses(const results::DropmapSummary& summary) {
  std::vector<LossSet> out;
  std::set<std::pair<link::Direction, std::uint64_t>> fatal_alone;
  for (const auto& row : summary.rows) {
    if (row.no_answer == 0) continue;
    const auto place = place_of(row.packets.front());
    fatal_alone.emplace(place.direction, place.index);
    out.push_back({place});
  }
  for (const auto& row : summary.pairs) {
    if (row.no_answer == 0) continue;
    LossSet places;
    for (const auto& packet : row.packets) places.push_back(place_of(packet));
    const bool is_told = std::ranges::any_of(places, [&](const auto& p) { return fatal_alone.contains({p.direction, p.index}); });
    if (!is_told) out.push_back(std::move(places));
  }
  return out;
}

}  // namespace

results::ReproRun find_fatal_losses(const Setup& setup, const FindOptions& options, const std::string& command_line,
                                    const Progress& progress, std::stop_token stop) {
  results::ReproRun run;
  run.fault = "find";
  run.command_line = command_line;
  const auto begin = monotonic_now();
  const auto map = run_dropmap(setup, {.repetitions = kFewestAttempts, .references = 3, .pairs = options.pairs}, command_line, progress, stop);
  run.started = map.started;
  run.complete = map.complete;
  run.environment = map.environment;
  run.endpoints = map.endpoints;
  std::size_t rows = 0, unanswered = 0, fatal = 0;
  for (const auto& [name, summary] : map.results) {
    rows += summary.rows.size() + summary.pairs.size();
    unanswered += !summary.reference.ms;
    auto sets = fatal_losses(summary);
    fatal += sets.size();
    if (sets.empty() || !run.complete) continue;
    if (sets.size() > kMostTriedAgain) sets.resize(kMostTriedAgain);
    auto again = setup;
    again.transports = {*parse_transport(name)};
    again.link.duplicate_probability = again.link.corrupt_probability = again.link.reorder_probability = 0;
    again.link.burst.reset();
    const auto tried = try_losses(again, sets, {.has_failed = [](const Sample& sample) { return !sample.result.answered; }}, progress, stop);
    if (!tried) {
      run.complete = false;
      break;
    }
    for (const auto& one : tried->each)
      if (one.record.failed > 0) run.scripted.push_back(one.record);
    const auto* surest = ends_every_time(tried->each);
    if (surest == nullptr || run.every_time) continue;
    run.every_time = surest->record;
    run.first_failure = explain(*surest->failure, analyse(*surest->failure, again.link));
    run.server_log = tried->server_log;
    if (options.on_failure) options.on_failure(*surest->failure);
  }
  if (!run.scripted.empty()) {
    run.verdict = "affected";
    run.reason = std::format("{} of {} chosen losses end a lookup, with pairs counted where neither packet does it alone", run.scripted.size(), rows);
    if (!options.pairs) run.reason = std::format("{} of {} chosen losses end a lookup", run.scripted.size(), rows);
  } else if (!run.complete || unanswered > 0) {
    run.verdict = "not decided";
    run.reason = unanswered > 0 ? "a transport gave no answer even without losses" : "the run did not come to its end";
  } else if (fatal > 0) {
    run.verdict = "not decided";
    run.reason = std::format("{} of {} chosen losses ended a lookup once, and none when they were tried again", fatal, rows);
  } else {
    run.verdict = "not affected";
    run.reason = std::format("none of {} chosen losses ends a lookup", rows);
  }
  run.duration_s = to_ms(monotonic_now() - begin) / 1000;
  return run;
}

}  // namespace doxlab::experiment
