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

/// After make_private_folder(): the calling thread and its later children see the file `source` at `target`, which
/// must exist. Errors: why not.
Result<void> show_file_at(const std::string& target, const std::string& source);

}  // namespace doxlab::net
