#pragma once
/// How a quantile is printed wherever one is.

#include <string>

#include "results/loss.hpp"

namespace doxlab::report {

/// "1225.8 [477.0, 1571.2]"; "≥15 s" where it is not known; "n < 299" where n is too small to say.
std::string quantile_text(const results::QuantileEstimate& q, double timeout_s);

}  // namespace doxlab::report
