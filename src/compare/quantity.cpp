#include "compare/quantity.hpp"

#include <algorithm>
#include <array>

#include "stats/proportion.hpp"
#include "stats/quantile.hpp"

namespace doxlab::compare {
namespace {

constexpr double kMedian = 0.5;
constexpr std::array kPacketsQuantities = {
    Quantity{"ms", "ms", kMedian},           Quantity{"round_trips", "", kMedian},    Quantity{"compute_ms", "ms", kMedian},
    Quantity{"pkts_c2s", "", kMedian},       Quantity{"pkts_s2c", "", kMedian},       Quantity{"bytes_c2s", "bytes", kMedian},
    Quantity{"bytes_s2c", "bytes", kMedian}, Quantity{"bytes_total", "bytes", kMedian}, Quantity{"flights", "", kMedian},
    Quantity{"no_answer_percent", "%"},
};
constexpr std::array kLossQuantities = {
    Quantity{"p50", "ms", 0.5},   Quantity{"p75", "ms", 0.75},     Quantity{"p90", "ms", 0.9},
    Quantity{"p95", "ms", 0.95},  Quantity{"p99", "ms", 0.99},     Quantity{"p99_9", "ms", 0.999},
    Quantity{"max", "ms"},        Quantity{"mean", "ms"},          Quantity{"round_trips", "", kMedian},
    Quantity{"pkts_c2s", "", kMedian}, Quantity{"pkts_s2c", "", kMedian}, Quantity{"bytes_c2s", "bytes", kMedian},
    Quantity{"bytes_s2c", "bytes", kMedian}, Quantity{"bytes_total", "bytes", kMedian}, Quantity{"no_answer_percent", "%"},
};

bool is_time(const Quantity& quantity) { return quantity.unit == "ms"; }

const Quantity* find(std::span<const Quantity> all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Quantity::name);
  return found == all.end() ? nullptr : &*found;
}

/// What both kinds of samples have under the same name.
template <class Sample>
std::optional<double> count_of(const Sample& sample, std::string_view name) {
  const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
  if (name == "round_trips") return sample.round_trips ? std::optional(number(*sample.round_trips)) : std::nullopt;
  if (name == "pkts_c2s") return number(sample.pkts_c2s);
  if (name == "pkts_s2c") return number(sample.pkts_s2c);
  if (name == "bytes_c2s") return number(sample.bytes_c2s);
  if (name == "bytes_s2c") return number(sample.bytes_s2c);
  if (name == "bytes_total") return number(sample.bytes_c2s + sample.bytes_s2c);
  if constexpr (requires { sample.flights; }) {
    if (name == "flights") return number(sample.flights);
    if (name == "compute_ms") return sample.compute_ms;
  }
  return std::nullopt;
}

/// `time` if the quantity is the time of the whole lookup.
template <class Sample>
stats::Samples collect(std::span<const Sample> samples, std::string_view name, bool time, double timeout_s) {
  std::vector<double> known;
  std::size_t censored = 0;
  for (const auto& sample : samples) {
    if (sample.disturbed) continue;
    if (time) {
      if (sample.ms) known.push_back(*sample.ms);
      else ++censored;
    } else if (const auto value = count_of(sample, name); value && sample.ms) {
      known.push_back(*value);
    }
  }
  return stats::Samples(std::move(known), censored, timeout_s * 1000);
}

Measured describe(const stats::QuantileEstimate& estimate) {
  Measured out{.n = estimate.n};
  if (estimate.value) {
    out.censored = estimate.value->at_least;
    if (!out.censored) out.value = estimate.value->value;
  }
  if (!estimate.interval) return out;
  out.has_interval = true;
  if (!estimate.interval->low.at_least) out.low = estimate.interval->low.value;
  if (!estimate.interval->high.at_least) out.high = estimate.interval->high.value;
  return out;
}

Measured share(std::size_t of_them, std::size_t all) {
  const auto interval = stats::clopper_pearson(of_them, all);
  Measured out{.low = interval.low * 100, .high = interval.high * 100, .has_interval = true, .n = all};
  if (all > 0) out.value = 100.0 * static_cast<double>(of_them) / static_cast<double>(all);
  return out;
}

}  // namespace

std::span<const Quantity> packets_quantities() { return kPacketsQuantities; }
std::span<const Quantity> loss_quantities() { return kLossQuantities; }

std::optional<Measured> measure(const results::PacketsSummary& summary, std::string_view quantity, double timeout_s) {
  const auto* known = find(kPacketsQuantities, quantity);
  if (known == nullptr) return std::nullopt;
  if (known->p == 0) return share(summary.no_answer, summary.samples + summary.no_answer);
  return describe(stats::estimate_quantile(values(std::span(summary.raw), quantity, timeout_s), known->p));
}

std::optional<Measured> measure(const results::LossSummary& summary, std::span<const results::LossSample> samples,
                                std::string_view quantity, double timeout_s) {
  const auto* known = find(kLossQuantities, quantity);
  if (known == nullptr) return std::nullopt;
  const auto all = summary.n + summary.timeouts;
  if (quantity == "no_answer_percent") return share(summary.timeouts, all);
  if (quantity == "max") return Measured{.value = summary.max, .n = summary.n};
  if (quantity == "mean") return Measured{.value = summary.mean, .n = summary.n};
  if (!is_time(*known)) {
    if (samples.empty()) return Measured{};
    return describe(stats::estimate_quantile(values(samples, quantity, timeout_s), known->p));
  }
  const auto found = std::ranges::find(summary.quantiles, known->p, &results::QuantileEstimate::p);
  if (found == summary.quantiles.end()) return Measured{.n = all};
  return Measured{found->ms, found->censored, found->low_ms, found->high_ms, found->supported, all};
}

stats::Samples values(std::span<const results::PacketsSample> samples, std::string_view quantity, double timeout_s) {
  return collect(samples, quantity, quantity == "ms", timeout_s);
}

stats::Samples values(std::span<const results::LossSample> samples, std::string_view quantity, double timeout_s) {
  const auto* known = find(kLossQuantities, quantity);
  return collect(samples, quantity, known != nullptr && is_time(*known), timeout_s);
}

std::span<const results::LossSample> samples_of(const results::LossRun& run, std::string_view transport) {
  const auto range = std::ranges::equal_range(run.samples, transport, {},
                                              [](const auto& s) { return std::string_view(s.transport); });
  return {range.begin(), range.end()};
}

}  // namespace doxlab::compare
