#pragma once
/// The warm experiment as text.

#include <string>

#include "results/warm.hpp"

namespace doxlab::report {

/// Round trips, then bytes, a row for each transport and a column for each case, ending in '\n'.
std::string warm_text(const results::WarmRun& run);

}  // namespace doxlab::report
