#pragma once
/// The loss experiment as text.

#include <string>

#include "report/document.hpp"
#include "results/loss.hpp"

namespace doxlab::report {

/// Two tables: quantiles with their intervals, and lookups without an answer; then what needs care.
Document loss_text(const results::LossRun& run);

}  // namespace doxlab::report
