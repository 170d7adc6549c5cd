#pragma once
/// The warm experiment as text.

#include <string>

#include "report/document.hpp"
#include "results/warm.hpp"

namespace doxlab::report {

/// Round trips, then bytes, a row for each transport and a column for each case, ending in '\n'.
Document warm_text(const results::WarmRun& run);

}  // namespace doxlab::report
