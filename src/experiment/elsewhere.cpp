#include "experiment/elsewhere.hpp"

#include <algorithm>
#include <condition_variable>
#include <format>
#include <mutex>
#include <stdexcept>

#include "experiment/rig.hpp"

namespace doxlab::experiment {
namespace {

constexpr auto kLongestPriming = 5s;

/// False if stopped meanwhile.
bool pause(Duration length, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, length, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace

void prime(Setup& setup, std::stop_token stop) {
  const auto& server = *setup.elsewhere;
  auto options = lookup_options(setup, {});
  options.timeout = std::min<Duration>(options.timeout, kLongestPriming);
  options.linger = 20ms;
  options.session.ticket.reset();
  options.session.quic.qlog = {};
  std::vector<Transport> answering;
  std::string reasons;
  std::optional<Duration> shortest;
  for (const auto t : setup.transports) {
    if (t != setup.transports.front() && !pause(server.interval, stop)) break;
    options.transport = t;
    options.server = {server.address, server.ports.at(t)};
    options.session.port = options.server.port;
    const auto result = client::lookup(options, compose_query(setup, t));
    if (const auto came = result.connected ? result.connected : result.answered)
      shortest = std::min<Duration>(shortest.value_or(Duration::max()), *came - result.started);
    if (result.answered) {
      answering.push_back(t);
      continue;
    }
    setup.not_offered.push_back(t);
    auto& reason = setup.not_answering[t] = std::format("{}: {}", client::to_string(result.outcome), result.reason);
    reasons += std::format("\n  {} (port {}): {}", display_name(t), options.server.port, reason);
  }
  if (stop.stop_requested()) return;
  if (answering.empty())
    throw std::runtime_error(std::format("{} at {} answers over no transport:{}", server.name, server.address.to_string(), reasons));
  setup.transports = std::move(answering);
  if (server.is_direct && shortest) setup.link.one_way_delay = *shortest / 2;
}

SamplerOptions kept_gentle(SamplerOptions sampling, const Setup& setup) {
  // Starting a program takes the resolver's code and data out of the processor's caches, so that its first handshake after that
  // takes several milliseconds; only what is beyond that is the machine's doing.
  constexpr auto kColdLoopTolerance = 12ms;
  if (setup.client) sampling.loop_tolerance = std::max<Duration>(sampling.loop_tolerance, kColdLoopTolerance);
  if (!setup.elsewhere) return sampling;
  const auto interval = setup.elsewhere->interval;
  sampling.first_interval = std::max(sampling.first_interval, interval);
  sampling.least_interval = std::max(sampling.least_interval, interval);
  sampling.greatest_interval = std::max(sampling.greatest_interval, interval);
  return sampling;
}

}  // namespace doxlab::experiment
