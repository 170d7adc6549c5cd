#include "report/spark.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace doxlab::report {

std::string spark(std::span<const double> values, double low, double high, std::size_t cells) {
  if (values.empty() || cells == 0 || !(low > 0) || !(high > low)) return {};
  std::vector<std::size_t> counts(cells);
  for (const double value : values) {
    const double at = std::log(std::clamp(value, low, high) / low) / std::log(high / low);
    ++counts[std::min(static_cast<std::size_t>(at * static_cast<double>(cells)), cells - 1)];
  }
  constexpr std::string_view kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto most = static_cast<double>(std::ranges::max(counts));
  std::string out;
  for (const auto count : counts) {
    if (count == 0) {
      out += ' ';
      continue;
    }
    const auto height = std::sqrt(static_cast<double>(count) / most) * std::size(kBars);
    out += kBars[std::min(static_cast<std::size_t>(height), std::size(kBars) - 1)];
  }
  return out;
}

}  // namespace doxlab::report
