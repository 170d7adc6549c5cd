#pragma once
/// How two runs that may not be joined differ, in words; for the .cpp files of this room.

#include <map>
#include <string>
#include <string_view>

namespace doxlab::results {

/// "NAME is ONE in one and OTHER in the other"; long values are cut, empty ones are "not given".
std::string differ(std::string_view name, std::string_view one, std::string_view other);

/// The first option that differs, in these words; empty if none.
std::string difference(const std::map<std::string, std::string>& one,
                       const std::map<std::string, std::string>& other);

}  // namespace doxlab::results
