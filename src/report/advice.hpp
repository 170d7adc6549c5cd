#pragma once
/// Measured advice as text.

#include <string>

#include "report/document.hpp"
#include "results/advice.hpp"

namespace doxlab::report {

/// For each finding of each transport a table, as it is and with each change, and a line on what each change gains; then
/// what first flights may grow by. Ends in '\n'.
Document advice_text(const results::AdviceRun& run);

}  // namespace doxlab::report
