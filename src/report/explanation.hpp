#pragma once
/// An explained lookup for a terminal: its packets, its time, its bytes, what was found.

#include <string>

#include "report/document.hpp"
#include "results/explanation.hpp"

namespace doxlab::report {

/// Lines of at most 140 columns or so, the longest being those of packets.
Document explanation_text(const results::Explanation& explanation);

}  // namespace doxlab::report
