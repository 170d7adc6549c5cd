#pragma once
/// A program run as a child, in the network namespace of the thread that starts it. The child and all that it
/// starts end with this object, and with this process even if it is killed: they live in a process namespace
/// of their own, whose first process the kernel ends with its parent.

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "net/file_descriptor.hpp"

namespace doxlab::net {

struct ChildOptions {
  std::vector<std::pair<std::string, std::string>> environment{};  ///< added to this process's own
  std::string working_directory{};                                 ///< empty: this process's own
  /// Where standard output and standard error go, one after the other as they come; empty: they are kept
  /// in memory, each up to kLargestOutput octets.
  std::string output_file{};
  /// In memory, of each stream at least this many of its last octets, and at most twice as many; 0: the first
  /// kLargestOutput.
  std::size_t keep_last = 0;
  /// The program and its children run with this real-time priority (SCHED_RR) where the kernel allows it;
  /// 0: as other processes.
  int real_time_priority = 0;
};

class ChildProcess {
 public:
  static constexpr std::size_t kLargestOutput = 16 << 20;

  /// Starts `command` (a program by path or by name on PATH, and its arguments) with an empty standard
  /// input. Returns once it runs. Errors: std::system_error naming the program or the folder.
  explicit ChildProcess(std::vector<std::string> command, ChildOptions options = {});
  /// Kills what still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The exit status, as a shell tells it (128 + number for a signal), once the program has ended and its
  /// output is complete; empty if that takes longer than `timeout`.
  std::optional<int> wait(Duration timeout);
  /// Passes SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1 or SIGUSR2 to the program. Nothing happens if it has ended.
  void signal(int number);

  /// What it has written so far.
  std::string output() const;
  std::string errors() const;
  /// Waits until output or errors contain `text`. False: the time is over, or the program ended without.
  bool wait_for(std::string_view text, Duration timeout);

 private:
  struct Stream {
    FileDescriptor reader;
    std::string text;
  };

  void start(const std::vector<std::string>& command, const ChildOptions& options);
  void watch();
  bool read_some(Stream& stream);
  bool contains(std::string_view text) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Stream output_, errors_;
  int pid_ = -1;
  std::size_t keep_last_ = 0;
  FileDescriptor process_;  ///< pidfd
  std::optional<int> status_;
  /// The child's parent as the kernel sees it: starts it, reads its output and waits for it. The parent's
  /// death is that of a thread, so the thread that called the constructor would not do.
  std::thread thread_;
};

}  // namespace doxlab::net
