#include "net/forwarding.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "net/sysctl.hpp"
#include "net/system_error.hpp"

namespace doxlab::net {
namespace {

/// In the child, where only what signal-safety(7) allows is called: waits for the end of the pipe, then puts 0 back.
[[noreturn]] void put_back_at_end(int pipe, int setting) {
  ::setsid();  // a terminal's signals are not for it
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(number, SIG_IGN);
  if (::dup2(setting, STDIN_FILENO) < 0 || ::dup2(pipe, STDOUT_FILENO) < 0) ::_exit(1);
  // Nothing of the process may live on here: its other pipes, its namespaces, its netlink sockets.
  ::close_range(STDERR_FILENO, ~0u, 0);
  char nothing = 0;
  while (::read(STDOUT_FILENO, &nothing, 1) < 0 && errno == EINTR) {
  }
  ::_exit(::pwrite(STDIN_FILENO, "0\n", 2, 0) == 2 ? 0 : 1);  // the offset is shared with the process that wrote before
}

}  // namespace

Forwarding::Forwarding(const std::string& device) {
  const std::string name = "net/ipv4/conf/" + device + "/forwarding";
  const auto now = read_sysctl(name);
  if (now && *now != "0") return;
  const FileDescriptor setting(checked(::open(("/proc/sys/" + name).c_str(), O_WRONLY | O_CLOEXEC), ("open kernel setting " + name).c_str()));
  int ends[2];
  checked(::pipe2(ends, O_CLOEXEC), "make a pipe");
  const FileDescriptor reader(ends[0]);
  alive_ = FileDescriptor(ends[1]);
  guard_ = checked(::fork(), "fork");
  if (guard_ == 0) {
    ::close(ends[1]);
    put_back_at_end(reader.get(), setting.get());
  }
  if (::pwrite(setting.get(), "1\n", 2, 0) != 2) throw_errno("set kernel setting " + name + " to 1");
}

Forwarding::~Forwarding() {
  alive_.reset();
  if (guard_ > 0) ::waitpid(guard_, nullptr, 0);
}

}  // namespace doxlab::net
