#pragma once
/// Files that one thread and its children see with other content than everyone else.

#include <span>
#include <string>

#include "base/error.hpp"

namespace doxlab::net {

struct PrivateFile {
  std::string path;  ///< must exist; of a symbolic link, what it leads to
  std::string content;
};

/// Moves the calling thread into a mount namespace of its own (mount_namespaces(7)), in which the files have
/// the given content. Children that it starts afterwards live there too; nobody else sees a difference, and
/// no file system is written to. From then on the thread shares no working directory with the others either.
/// Errors: which step failed; files before it are replaced, those from it on are not.
Result<void> show_private_files(std::span<const PrivateFile> files);

}  // namespace doxlab::net
