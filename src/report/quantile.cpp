#include "report/quantile.hpp"

#include <format>

namespace doxlab::report {

std::string quantile_text(const results::QuantileEstimate& q, double timeout_s) {
  if (!q.supported) return std::format("n < {}", q.samples_needed);
  const auto limit = std::format("≥{:g} s", timeout_s);
  const auto value = q.censored ? limit : std::format("{:.1f}", q.ms.value_or(0));
  const auto low = q.low_ms ? std::format("{:.1f}", *q.low_ms) : limit;
  const auto high = q.high_ms ? std::format("{:.1f}", *q.high_ms) : limit;
  return std::format("{} [{}, {}]", value, low, high);
}

}  // namespace doxlab::report
