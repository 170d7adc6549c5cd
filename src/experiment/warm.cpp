#include "experiment/warm.hpp"

#include <algorithm>

namespace doxlab::experiment {
namespace {

struct Variation {
  const char* name;
  bool (*concerns)(Transport);
  void (*apply)(Setup&);
};

bool all(Transport) { return true; }

void always_retry(Setup& s) { s.doq_retry = s.doh3_retry = quic::RetryPolicy::Always; }

constexpr Variation kVariations[] = {
    {"cold", all, [](Setup& s) { s.start = Start::Cold; }},
    {"reused", all, [](Setup& s) { s.start = Start::Reused; }},
    {"resumed", is_encrypted, [](Setup& s) { s.start = Start::Resumed; }},
    {"0-RTT", has_tls, [](Setup& s) { s.start = Start::EarlyData; }},
    {"0-RTT rejected", has_tls,
     [](Setup& s) {
       s.start = Start::EarlyData;
       s.reject_early_data = true;
     }},
    {"Fast Open", is_stream, [](Setup& s) { s.fast_open = true; }},
    {"Retry", is_quic, always_retry},
    {"Retry, 0-RTT", is_quic,
     [](Setup& s) {
       always_retry(s);
       s.start = Start::EarlyData;
     }},
    {"token", is_quic,
     [](Setup& s) {
       always_retry(s);
       s.use_token = true;
     }},
    {"token, 0-RTT", is_quic,
     [](Setup& s) {
       always_retry(s);
       s.use_token = true;
       s.start = Start::EarlyData;
     }},
};

}  // namespace

results::WarmRun run_warm(const Setup& setup, std::size_t repetitions, const std::string& command_line,
                          const Progress& progress, std::stop_token stop) {
  results::WarmRun out;
  out.command_line = command_line;
  std::size_t before = 0, of = 0;
  for (const auto& variation : kVariations)
    of += repetitions * static_cast<std::size_t>(std::ranges::count_if(setup.transports, variation.concerns));
  for (const auto& variation : kVariations) {
    auto varied = setup;
    varied.start = Start::Cold;
    varied.reject_early_data = varied.use_token = varied.fast_open = false;
    std::erase_if(varied.transports, [&](Transport t) { return !variation.concerns(t); });
    if (varied.transports.empty()) continue;
    variation.apply(varied);
    const auto count = [&](std::size_t done, std::size_t) {
      if (progress) progress(before + done, of);
    };
    out.cases.push_back({variation.name, run_packets(varied, repetitions, command_line, count, stop)});
    before += repetitions * varied.transports.size();
    out.complete = out.cases.back().run.complete;
    if (!out.complete) break;
  }
  return out;
}

}  // namespace doxlab::experiment
