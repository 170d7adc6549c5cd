#pragma once
/// Kernel settings below /proc/sys. What is below net/ belongs to the network namespace of the calling
/// thread.

#include <string>

#include "base/error.hpp"

namespace doxlab::net {

/// `name` with slashes, for example "net/ipv4/tcp_congestion_control". The value comes without its line end;
/// tabs between numbers become spaces.
Result<std::string> read_sysctl(const std::string& name);
Result<void> write_sysctl(const std::string& name, const std::string& value);

}  // namespace doxlab::net
