#pragma once
/// The page that `report` and `suite` write.

#include <string>

#include "results/study.hpp"

namespace doxlab::app {

/// Writes the page and says where it is. Errors: as write_output.
void write_report(const std::string& path, const results::Study& study);

}  // namespace doxlab::app
