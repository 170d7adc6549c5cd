#include "net/forwarding.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "net/system_error.hpp"

namespace doxlab::net {
namespace {

/// Octets of the setting's file that are locked, which says nothing of their contents: a turn to look at users and setting
/// together, and a share for each user. The kernel keeps one file for each device and namespace, and drops the locks of a process
/// that ends (open file description locks, fcntl(2)).
enum Octet : off_t { kTurn = 0, kUsers = 1 };

/// Waits for it. Only what signal-safety(7) allows is called.
bool lock(int setting, Octet octet, short type) {
  struct flock request{};
  request.l_type = type;
  request.l_whence = SEEK_SET;
  request.l_start = octet;
  request.l_len = 1;
  while (::fcntl(setting, F_OFD_SETLKW, &request) < 0)
    if (errno != EINTR) return false;
  return true;
}

/// Whether others than this open file have a share. Likewise.
bool has_users(int setting) {
  struct flock request{};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  request.l_start = kUsers;
  request.l_len = 1;
  return ::fcntl(setting, F_OFD_GETLK, &request) == 0 && request.l_type != F_UNLCK;
}

/// Likewise; the offset is shared with whoever wrote before.
bool write_setting(int setting, char value) {
  const char line[] = {value, '\n'};
  return ::pwrite(setting, line, sizeof line, 0) == sizeof line;
}

/// In the child, where only what signal-safety(7) allows is called: waits for the end of the pipe, then puts 0 back unless
/// another user is left, who will.
[[noreturn]] void put_back_at_end(int pipe, int setting) {
  ::setsid();  // a terminal's signals are not for it
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(number, SIG_IGN);
  if (::dup2(setting, STDIN_FILENO) < 0 || ::dup2(pipe, STDOUT_FILENO) < 0) ::_exit(1);
  // Nothing of the process may live on here: its other pipes, its namespaces, its netlink sockets.
  ::close_range(STDERR_FILENO, ~0u, 0);
  char nothing = 0;
  while (::read(STDOUT_FILENO, &nothing, 1) < 0 && errno == EINTR) {
  }
  lock(STDIN_FILENO, kTurn, F_WRLCK);
  lock(STDIN_FILENO, kUsers, F_UNLCK);
  ::_exit(has_users(STDIN_FILENO) || write_setting(STDIN_FILENO, '0') ? 0 : 1);
}

}  // namespace

Forwarding::Forwarding(const std::string& device) {
  const std::string name = "net/ipv4/conf/" + device + "/forwarding";
  const FileDescriptor setting(checked(::open(("/proc/sys/" + name).c_str(), O_RDWR | O_CLOEXEC), ("open kernel setting " + name).c_str()));
  if (!lock(setting.get(), kTurn, F_WRLCK)) throw_errno("lock kernel setting " + name);
  char now = 0;
  checked(static_cast<int>(::pread(setting.get(), &now, 1, 0)), ("read kernel setting " + name).c_str());
  // The machine's own; otherwise it is on for another process like this.
  if (now != '0' && !has_users(setting.get())) return;
  if (!lock(setting.get(), kUsers, F_RDLCK)) throw_errno("lock kernel setting " + name);
  int ends[2];
  checked(::pipe2(ends, O_CLOEXEC), "make a pipe");
  const FileDescriptor reader(ends[0]);
  alive_ = FileDescriptor(ends[1]);
  guard_ = checked(::fork(), "fork");
  if (guard_ == 0) {
    ::close(ends[1]);
    put_back_at_end(reader.get(), setting.get());
  }
  if (now == '0' && !write_setting(setting.get(), '1')) throw_errno("set kernel setting " + name + " to 1");
  lock(setting.get(), kTurn, F_UNLCK);
}

Forwarding::~Forwarding() {
  alive_.reset();
  if (guard_ > 0) ::waitpid(guard_, nullptr, 0);
}

}  // namespace doxlab::net
