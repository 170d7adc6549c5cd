#include "report/preflight.hpp"

#include <algorithm>
#include <format>

namespace doxlab::report {

std::string preflight_text(const results::PreflightRun& run) {
  std::size_t width = 0;
  for (const auto& it : run.checks) width = std::max(width, it.name.size());
  std::string out;
  for (const auto& it : run.checks) {
    out += std::format("{:8} {:{}}  {}", it.status == "failed" ? "FAILED" : it.status, it.name, width, it.found);
    if (!it.why.empty()) out += "; why it matters: " + it.why;
    if (!it.action.empty()) out += "; to do: " + it.action;
    out += '\n';
  }
  const auto count = [&](std::string_view status) {
    return std::ranges::count(run.checks, status, &results::PreflightCheck::status);
  };
  out += std::format("{} ok", count("ok"));
  for (const auto* status : {"warning", "failed", "skipped"})
    if (const auto n = count(status); n > 0) out += std::format(", {} {}", n, status);
  if (!run.complete) return out + ": interrupted\n";
  return out + (run.passes ? ": measurements can be made\n" : ": do not trust measurements on this machine yet\n");
}

}  // namespace doxlab::report
