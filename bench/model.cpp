// The link model alone: what one decision costs, without a device or a clock.

#include <benchmark/benchmark.h>

#include "link/path.hpp"

namespace doxlab {
namespace {

void decide(benchmark::State& state, const link::Impairments& impairments) {
  link::Path path(impairments);
  Timestamp now{};
  std::uint64_t i = 0;
  for (auto _ : state) {
    now += 10us;
    benchmark::DoNotOptimize(path.accept({.sample = i / 10, .direction = link::Direction::ToServer, .index = i % 10}, 1260, 20, now));
    ++i;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

void clean(benchmark::State& state) { decide(state, {}); }
void loss(benchmark::State& state) { decide(state, {.loss_probability = 0.02}); }
void bursts(benchmark::State& state) { decide(state, {.burst = link::GilbertElliott{.p = 0.01, .r = 0.3}}); }
void bottleneck(benchmark::State& state) { decide(state, {.bottleneck_rate_bps = 100'000'000, .queue_limit_bytes = 64 * 1024}); }

BENCHMARK(clean);
BENCHMARK(loss);
BENCHMARK(bursts);
BENCHMARK(bottleneck);

}  // namespace
}  // namespace doxlab
