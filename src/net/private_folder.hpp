#pragma once
/// A folder that only one thread and its children see.

#include <string>

#include "base/error.hpp"

namespace doxlab::net {

/// Moves the calling thread into a mount namespace of its own (mount_namespaces(7)) and gives it an empty file
/// system in memory. It goes when the last process in that namespace has ended, however that ends; nobody else
/// sees it. Children that the thread starts afterwards live there too. Returns its path.
/// Errors: which step failed, and why.
Result<std::string> make_private_folder();

}  // namespace doxlab::net
