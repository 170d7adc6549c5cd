#pragma once
/// doxlab under way, and what can be seen of it from outside: its namespaces, its packets, its processes.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/programs.hpp"

namespace doxlab::test {

/// doxlab as a child without a process namespace around it, so that what it leaves behind can be seen.
/// Whatever it leaves becomes this process's child.
class Running {
 public:
  explicit Running(const Command& command, const std::string& output) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::vector<char*> arguments;
    auto words = command;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
      ::posix_spawn_file_actions_addopen(&actions, fd, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    const int error = ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::system_error(error, std::generic_category(), "start " + command.front());
  }
  ~Running() {
    if (status_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  std::filesystem::path process() const { return "/proc/" + std::to_string(pid_); }
  void kill(int signal) const { ::kill(pid_, signal); }

  /// The status as a shell tells it; empty if it still runs after the limit.
  std::optional<int> wait(Duration limit) {
    for (const auto end = monotonic_now() + limit; !status_ && monotonic_now() < end;) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_)
        status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      else
        ::usleep(5'000);
    }
    return status_;
  }

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// "net:[4026532001]": where a link below /proc leads; empty if it is gone.
inline std::string link_target(const std::filesystem::path& link) {
  std::error_code gone;
  const auto target = std::filesystem::read_symlink(link, gone);
  return gone ? "" : target.string();
}

inline std::vector<std::filesystem::path> entries(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> out;
  std::error_code gone;
  for (auto entry = std::filesystem::directory_iterator(folder, gone); !gone && entry != std::filesystem::directory_iterator();
       entry.increment(gone))
    out.push_back(entry->path());
  return out;
}

/// The network namespaces that a process's threads are in, or that it holds open.
inline std::set<std::string> network_namespaces_of(const std::filesystem::path& process) {
  std::set<std::string> out;
  for (const auto& thread : entries(process / "task"))
    if (const auto target = link_target(thread / "ns/net"); target.starts_with("net:")) out.insert(target);
  for (const auto& file : entries(process / "fd"))
    if (const auto target = link_target(file); target.starts_with("net:")) out.insert(target);
  return out;
}

inline std::set<std::filesystem::path> processes() {
  std::set<std::filesystem::path> out;
  for (const auto& entry : entries("/proc"))
    if (std::isdigit(static_cast<unsigned char>(entry.filename().string().front()))) out.insert(entry);
  return out;
}

/// Packets that the client's device has sent, as the kernel counts them; 0 while there is no such device.
inline std::uint64_t packets_sent_in_lab(const std::filesystem::path& process) {
  std::uint64_t most = 0;
  for (const auto& thread : entries(process / "task")) {
    std::ifstream table(thread / "net/dev");
    for (std::string line; std::getline(table, line);) {
      // "  lab0: bytes packets and six more received, bytes packets and six more sent"
      const auto colon = line.find(':');
      if (colon == std::string::npos || !line.substr(0, colon).ends_with("lab0")) continue;
      std::istringstream numbers(line.substr(colon + 1));
      std::vector<std::uint64_t> values{std::istream_iterator<std::uint64_t>(numbers), {}};
      if (values.size() > 9) most = std::max(most, values[9]);
    }
  }
  return most;
}

/// A run that would take half a minute, of which some lookups are done when this returns.
inline testing::AssertionResult is_in_the_middle(Running& run) {
  for (const auto end = monotonic_now() + kProgramLimit; packets_sent_in_lab(run.process()) < 200;) {
    if (run.wait(10ms)) return testing::AssertionFailure() << "it ended by itself with " << *run.wait(0s);
    if (monotonic_now() > end) return testing::AssertionFailure() << "it does not measure";
  }
  return testing::AssertionSuccess();
}

inline bool is_held(const std::set<std::string>& namespaces, const std::set<std::filesystem::path>& processes) {
  for (const auto& process : processes)
    for (const auto& name : network_namespaces_of(process))
      if (namespaces.contains(name)) return true;
  return false;
}

}  // namespace doxlab::test
