#include "net/child_launch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>

namespace doxlab::net {
namespace {

constexpr std::array kPassedOn = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
/// Descriptors that are moved go above these.
constexpr int kMovedFrom = 10;

/// As execvp does: the name itself if it has a slash, else below each folder of PATH.
std::vector<std::string> paths_of(const std::string& program) {
  if (program.contains('/')) return {program};
  const char* path = std::getenv("PATH");
  std::istringstream folders(
      path != nullptr ? path : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  std::vector<std::string> paths;
  for (std::string folder; std::getline(folders, folder, ':');) paths.push_back(folder + "/" + program);
  return paths;
}

std::vector<std::string> merged_environment(const ChildOptions& options) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const auto name = text.substr(0, text.find('='));
    if (!std::ranges::contains(options.environment, name,
                               [](const auto& v) -> std::string_view { return v.first; }))
      variables.emplace_back(text);
  }
  for (const auto& [name, value] : options.environment) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (auto& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

sigset_t passed_on_and_children() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : kPassedOn) ::sigaddset(&set, number);
  ::sigaddset(&set, SIGCHLD);
  return set;
}

/// The life of the first process: until the program has ended. Ending it ends all others of the namespace.
[[noreturn]] void attend(pid_t program, const sigset_t& signals) {
  while (true) {
    int number = 0;
    ::sigwait(&signals, &number);
    if (number != SIGCHLD) {
      ::kill(program, number);
      continue;
    }
    int status = 0;
    for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;)
      if (ended == program) ::_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
  }
}

}  // namespace

LaunchPlan::LaunchPlan(const std::vector<std::string>& command, const ChildOptions& options)
    : candidates_(paths_of(command.front())),
      command_(command),
      environment_(merged_environment(options)),
      arguments_(pointers_to(command_)),
      variables_(pointers_to(environment_)),
      working_directory_(options.working_directory),
      real_time_priority_(options.real_time_priority) {}

void LaunchPlan::run() {
  // Lifted above the standard descriptors first, so that none overwrites one that is still to be used.
  for (int& fd : standard) fd = ::fcntl(fd, F_DUPFD, kMovedFrom);
  failure = ::fcntl(failure, F_DUPFD_CLOEXEC, kMovedFrom);
  for (int target = 0; target < 3; ++target) ::dup2(standard[static_cast<std::size_t>(target)], target);
  close_others();

  // The parent may have died before this took effect; then nobody reads the pipe.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd parent{failure, 0, 0};
  if (::poll(&parent, 1, 0) == 1 && (parent.revents & POLLERR) != 0) ::_exit(127);

  if (!is_first_of_namespace) execute();
  const auto signals = passed_on_and_children();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const pid_t program = ::fork();
  if (program < 0) give_up(errno);
  if (program == 0) execute();
  if (leaves_process_group) ::setpgid(0, 0);
  // The pipes of the output belong to the program alone, so that their end is seen.
  ::syscall(SYS_close_range, 0U, ~0U, 0);
  attend(program, signals);
}

void LaunchPlan::close_others() const {
  for (unsigned from = 3;;) {
    auto kept = static_cast<unsigned>(failure) >= from ? static_cast<unsigned>(failure) : ~0U;
    for (const int fd : inherited)
      if (static_cast<unsigned>(fd) >= from) kept = std::min(kept, static_cast<unsigned>(fd));
    if (kept > from) ::syscall(SYS_close_range, from, kept == ~0U ? ~0U : kept - 1, 0);
    if (kept == ~0U) return;
    from = kept + 1;
  }
}

void LaunchPlan::execute() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (!working_directory_.empty() && ::chdir(working_directory_.c_str()) < 0) give_up(errno);
  if (real_time_priority_ > 0) {
    sched_param parameters{};
    parameters.sched_priority = real_time_priority_;
    ::sched_setscheduler(0, SCHED_RR, &parameters);
  }
  int error = ENOENT;
  for (const auto& path : candidates_) {
    ::execve(path.c_str(), arguments_.data(), variables_.data());
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
  }
  give_up(error);
}

void LaunchPlan::give_up(int error) {
  static_cast<void>(!::write(failure, &error, sizeof error));
  ::_exit(127);
}

}  // namespace doxlab::net
