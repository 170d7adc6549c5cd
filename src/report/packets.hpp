#pragma once
/// The packets experiment as text.

#include <string>

#include "report/document.hpp"
#include "results/run.hpp"

namespace doxlab::report {

/// The table of transports with what it was measured on, and warnings where the figures need care.
Document packets_text(const results::PacketsRun& run);

}  // namespace doxlab::report
