#pragma once
/// What a report says of the server that was measured.

#include <string>

#include "results/run.hpp"

namespace doxlab::report {

/// "Server: nginx/1.26.3; it does not offer do53, doq\n"; empty for doxlab's own resolver.
std::string server_line(const results::EndpointSettings& endpoints);

}  // namespace doxlab::report
