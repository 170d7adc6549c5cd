#pragma once
/// Prerequisites as text.

#include <string>

#include "results/preflight.hpp"

namespace doxlab::report {

/// One line for each check: of what is not ok also why it matters and what to do. Then a line that sums up.
std::string preflight_text(const results::PreflightRun& run);

}  // namespace doxlab::report
