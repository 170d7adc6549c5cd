#pragma once
/// What happens between fork and exec. All memory is prepared before the fork: afterwards only calls that
/// signal-safety(7) allows are made, since other threads may have held locks.

#include <array>
#include <string>
#include <vector>

#include "net/child_process.hpp"

namespace doxlab::net {

class LaunchPlan {
 public:
  LaunchPlan(const std::vector<std::string>& command, const ChildOptions& options);

  std::array<int, 3> standard{-1, -1, -1};  ///< become descriptors 0 to 2
  int failure = -1;                         ///< pipe for the errno of what did not work
  /// The child is the first process of a process namespace. It does not become the program itself, since
  /// the kernel spares such a process from signals; it starts the program, passes signals on, and reaps.
  bool is_first_of_namespace = false;
  /// Such a first process leaves the process group to the program, so that what a terminal sends to the group
  /// reaches the program once, and not again from here.
  bool leaves_process_group = false;
  std::vector<int> inherited;  ///< further descriptors that the program gets; all others are closed

  /// In the child.
  [[noreturn]] void run();

 private:
  void close_others() const;
  [[noreturn]] void execute();
  [[noreturn]] void give_up(int error);

  std::vector<std::string> candidates_;  ///< paths of the program, to be tried in order
  std::vector<std::string> command_, environment_;
  std::vector<char*> arguments_, variables_;
  std::string working_directory_;
  int real_time_priority_ = 0;
};

}  // namespace doxlab::net
