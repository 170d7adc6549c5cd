#pragma once
/// Real lookups whose packets meet what a script says, taken apart.

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "experiment/analysis.hpp"
#include "experiment/sampler.hpp"

namespace doxlab {

/// What happens to the packets of one lookup; `place.sample` is set by look_up().
using Script = std::vector<link::Scripted>;

inline constexpr auto kToServer = link::Direction::ToServer, kToClient = link::Direction::ToClient;

inline link::Scripted drop(link::Direction direction, std::uint64_t index) {
  return {.place = {.direction = direction, .index = index}};
}

inline link::Scripted late(link::Direction direction, std::uint64_t index, Duration by) {
  return {.place = {.direction = direction, .index = index}, .action = link::Scripted::Action::Delay, .extra_delay = by};
}

struct Looked {
  experiment::Sample sample;
  experiment::Analysis analysis;

  std::vector<trace::Finding> findings() const {
    std::vector<trace::Finding> out;
    for (const auto& found : analysis.findings) out.push_back(found.finding);
    return out;
  }
  const trace::Detected* find(trace::Finding finding) const {
    const auto found = std::ranges::find(analysis.findings, finding, &trace::Detected::finding);
    return found == analysis.findings.end() ? nullptr : &*found;
  }
};

using ByTransport = std::map<Transport, std::vector<Looked>>;

/// A lookup for each transport and script; its sample number is the script's place in the list.
inline ByTransport look_up_all(experiment::Setup setup, const std::vector<Transport>& transports, const std::vector<Script>& scripts = {{}}) {
  setup.transports = transports;
  std::vector<experiment::Task> tasks;
  for (std::uint64_t sample = 0; sample < scripts.size(); ++sample) {
    for (const auto transport : transports) tasks.push_back({transport, sample});
    for (auto event : scripts[sample]) {
      event.place.sample = sample;
      setup.link.script.push_back(event);
    }
  }
  experiment::Rig rig(setup);
  ByTransport out;
  for (const auto transport : transports) out[transport].resize(scripts.size());
  run_sampler(rig, tasks, {}, [&](experiment::Sample&& sample) {
    auto analysis = analyse(sample, setup.link);
    auto& mine = out[sample.task.transport][sample.task.sample];
    mine.sample = std::move(sample);
    mine.analysis = std::move(analysis);
  }, {}, {});
  return out;
}

inline std::vector<Looked> look_up(const experiment::Setup& setup, Transport transport, const std::vector<Script>& scripts = {{}}) {
  return std::move(look_up_all(setup, {transport}, scripts)[transport]);
}

inline Looked look_up_one(const experiment::Setup& setup, Transport transport) { return std::move(look_up(setup, transport).front()); }

}  // namespace doxlab
