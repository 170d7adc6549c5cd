#pragma once
/// Two runs side by side as text.

#include <string>

#include "report/document.hpp"
#include "results/comparison.hpp"

namespace doxlab::report {

/// For each experiment: what forbids comparing, or what differs between the two and the table of differences. With `all`
/// every quantity of every transport, otherwise those that differ beyond noise and each transport's time.
Document comparison_text(const results::Comparison& comparison, bool all);

}  // namespace doxlab::report
