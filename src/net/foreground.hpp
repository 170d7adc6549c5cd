#pragma once
/// A program that a person or a script runs through us: it has our standard streams and our terminal, and is
/// as far as it can tell run directly.

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace doxlab::net {

struct ForegroundOptions {
  std::vector<std::pair<std::string, std::string>> environment{};  ///< added to this process's own
  std::vector<int> inherited{};  ///< descriptors that the program gets beside 0 to 2
  /// Called once it runs, with the process to send its signals to.
  std::function<void(int pid)> on_started{};
};

/// Starts `command` in the namespaces of the calling thread and waits for its end. It stays in our process
/// group, so a terminal's signals (Ctrl-C, Ctrl-Z) reach it without us; signals that other processes send to
/// us are the caller's to pass on. What it leaves running in the background ends with it, and all of it ends
/// with this process, even if that is killed. Returns the exit status as a shell tells it (128 + number for a
/// signal). The thread can start no other threads afterwards, for its children have a process namespace of
/// their own. Errors: std::system_error naming the program (ENOENT: there is none).
int run_in_foreground(const std::vector<std::string>& command, const ForegroundOptions& options);

/// Those of this process's descriptors above 2 that whoever started it left open for it and for its children.
std::vector<int> inherited_descriptors();

}  // namespace doxlab::net
