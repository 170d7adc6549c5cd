#pragma once
/// How two runs that may not be joined, or compared, differ, in words.

#include <map>
#include <string>
#include <string_view>

#include "results/run.hpp"

namespace doxlab::results {

/// "NAME is ONE in one and OTHER in the other"; long values are cut, empty ones are "not given".
std::string differ(std::string_view name, std::string_view one, std::string_view other);

/// The first option that differs, in these words; empty if none.
std::string difference(const std::map<std::string, std::string>& one,
                       const std::map<std::string, std::string>& other);

/// The fields of a record by their names, each as the JSON of its value.
std::map<std::string, std::string> fields_of(const LinkSettings& link);
std::map<std::string, std::string> fields_of(const EndpointSettings& endpoints);

}  // namespace doxlab::results
