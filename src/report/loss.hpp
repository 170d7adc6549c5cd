#pragma once
/// The loss experiment as text.

#include <string>

#include "results/loss.hpp"

namespace doxlab::report {

/// Two tables: quantiles with their intervals, and lookups without an answer; then what needs care.
std::string loss_text(const results::LossRun& run);

}  // namespace doxlab::report
