#pragma once
/// The packets experiment as text.

#include <string>

#include "results/run.hpp"

namespace doxlab::report {

/// The table of transports with what it was measured on, and warnings where the figures need care.
std::string packets_text(const results::PacketsRun& run);

}  // namespace doxlab::report
