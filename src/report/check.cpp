#include "report/check.hpp"

#include <algorithm>
#include <format>

namespace doxlab::report {

Document check_text(const results::CheckRun& run, bool all) {
  std::string out;
  for (const auto& it : run.assertions) {
    if (it.holds && !all) continue;
    std::string where = it.experiment;
    if (!it.transport.empty()) where += (where.empty() ? "" : " ") + it.transport;
    out += std::format("{} {}: {}{}{}: {}\n", it.holds ? "holds " : "FAILED", it.rule, where, where.empty() ? "" : ", ", it.asserted,
                       it.evidence);
  }
  const auto held = std::ranges::count(run.assertions, true, &results::CheckedAssertion::holds);
  return out + std::format("{} of {} assertions hold\n", held, run.assertions.size());
}

}  // namespace doxlab::report
