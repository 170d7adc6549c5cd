#pragma once
/// What a report says of the server that was measured.

#include <cstdint>
#include <map>
#include <string>

#include "results/run.hpp"

namespace doxlab::report {

/// "Server: nginx/1.26.3; it does not offer do53, doq\n"; empty for doxlab's own resolver.
std::string server_line(const results::EndpointSettings& endpoints);

/// "20 ms each way, MTU 1500, loss 2% each way, seed 1", or that there was no link.
std::string path_text(const results::LinkSettings& link, const results::EndpointSettings& endpoints);

/// Of a server that was asked directly: who counted, and what cannot be seen that way. Empty where the link counted.
std::string counting_text(const std::map<std::string, std::string>& counted_by, std::uint64_t missed_packets);

}  // namespace doxlab::report
