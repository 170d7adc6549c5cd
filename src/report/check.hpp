#pragma once
/// Checked assertions as text.

#include <string>

#include "report/document.hpp"
#include "results/check.hpp"

namespace doxlab::report {

/// One line for each assertion that does not hold, with the evidence, and a count. With `all` also those that hold.
Document check_text(const results::CheckRun& run, bool all);

}  // namespace doxlab::report
