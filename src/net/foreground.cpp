#include "net/foreground.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>

#include "net/child_launch.hpp"
#include "net/file_descriptor.hpp"
#include "net/system_error.hpp"

namespace doxlab::net {
namespace {

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) throw_errno("wait for a program");
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int run_in_foreground(const std::vector<std::string>& command, const ForegroundOptions& options) {
  LaunchPlan launch(command, {.environment = options.environment});
  int ends[2];
  checked(::pipe2(ends, O_CLOEXEC), "make a pipe");
  const FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);
  launch.standard = {0, 1, 2};
  launch.failure = writer.get();
  launch.inherited = options.inherited;
  launch.leaves_process_group = true;
  // Applies to this thread's next children only. Without the privilege, grandchildren may outlive us.
  launch.is_first_of_namespace = ::unshare(CLONE_NEWPID) == 0;
  const pid_t pid = checked(::fork(), "fork");
  if (pid == 0) launch.run();
  writer.reset();

  // The pipe closes without a word when the program has replaced the child.
  int error = 0;
  if (::read(reader.get(), &error, sizeof error) == sizeof error) {
    wait_for(pid);
    throw std::system_error(error, std::generic_category(), command.front());
  }
  if (options.on_started) options.on_started(pid);
  return wait_for(pid);
}

std::vector<int> inherited_descriptors() {
  std::vector<int> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const auto name = entry.path().filename().string();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    // What is not for children is our own, such as the folder that is being read.
    const int flags = fd > 2 ? ::fcntl(fd, F_GETFD) : -1;
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) out.push_back(fd);
  }
  return out;
}

}  // namespace doxlab::net
