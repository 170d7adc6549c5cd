#pragma once
/// The report that people look at: one HTML file that needs nothing else, neither a network nor a server.

#include <string>

#include "results/study.hpp"

namespace doxlab::report {

/// A section for each part that the study has. The study may come from anywhere: whatever is in it, nothing of it becomes
/// markup or script.
std::string html_report(const results::Study& study);

}  // namespace doxlab::report
