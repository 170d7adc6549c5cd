#include "net/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <future>

#include "net/child_launch.hpp"
#include "net/system_error.hpp"

namespace doxlab::net {
namespace {

struct Pipe {
  FileDescriptor reader, writer;
};

Pipe make_pipe() {
  int ends[2];
  checked(::pipe2(ends, O_CLOEXEC), "make a pipe");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

FileDescriptor open_file(const std::string& path, int flags) {
  FileDescriptor fd(::open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (!fd) throw_errno("open " + path);
  return fd;
}

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> command, ChildOptions options) {
  if (command.empty()) throw std::invalid_argument("no program to start");
  keep_last_ = options.keep_last;
  std::promise<void> started;
  auto has_started = started.get_future();
  thread_ = std::thread([&, this] {
    try {
      start(command, options);
    } catch (...) {
      return started.set_exception(std::current_exception());
    }
    // From here on the constructor may have returned.
    started.set_value();
    watch();
  });
  try {
    has_started.get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

ChildProcess::~ChildProcess() {
  {
    std::scoped_lock lock(mutex_);
    if (!status_) ::kill(pid_, SIGKILL);
  }
  thread_.join();
}

void ChildProcess::start(const std::vector<std::string>& command, const ChildOptions& options) {
  auto launch = LaunchPlan(command, options);
  auto failure = make_pipe();
  Pipe out, err;
  const auto input = open_file("/dev/null", O_RDONLY);
  FileDescriptor file;
  if (options.output_file.empty()) {
    out = make_pipe();
    err = make_pipe();
  } else {
    file = open_file(options.output_file, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
  }
  launch.standard = {input.get(), file ? file.get() : out.writer.get(), file ? file.get() : err.writer.get()};
  launch.failure = failure.writer.get();

  // Applies to this thread's next children only. Without the privilege, grandchildren may outlive us.
  launch.is_first_of_namespace = ::unshare(CLONE_NEWPID) == 0;
  pid_ = checked(::fork(), "fork");
  if (pid_ == 0) launch.run();
  process_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  failure.writer.reset();

  // The pipe closes without a word when the program has replaced the child.
  int error = 0;
  if (::read(failure.reader.get(), &error, sizeof error) == sizeof error) {
    ::waitpid(pid_, nullptr, 0);
    throw std::system_error(error, std::generic_category(), "start " + command.front());
  }
  if (!process_) throw_errno("watch a child process");
  output_.reader = std::move(out.reader);
  errors_.reader = std::move(err.reader);
}

void ChildProcess::watch() {
  bool has_ended = false;
  while (true) {
    // A negative descriptor is left out. After the end, what is still in the pipes is read without waiting:
    // a background process of the program might hold them open for ever.
    std::array<pollfd, 3> polls{pollfd{output_.reader.get(), POLLIN, 0},
                                pollfd{errors_.reader.get(), POLLIN, 0},
                                pollfd{has_ended ? -1 : process_.get(), POLLIN, 0}};
    const int ready = ::poll(polls.data(), polls.size(), has_ended ? 0 : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (has_ended && ready <= 0) break;
    if (polls[0].revents != 0 && !read_some(output_)) output_.reader.reset();
    if (polls[1].revents != 0 && !read_some(errors_)) errors_.reader.reset();
    if (polls[2].revents != 0) has_ended = true;
  }
  std::scoped_lock lock(mutex_);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  changed_.notify_all();
}

bool ChildProcess::read_some(Stream& stream) {
  std::array<char, 16384> buffer;
  const auto length = ::read(stream.reader.get(), buffer.data(), buffer.size());
  if (length <= 0) return length < 0 && errno == EINTR;
  std::scoped_lock lock(mutex_);
  if (keep_last_ > 0) {
    stream.text.append(buffer.data(), static_cast<std::size_t>(length));
    if (stream.text.size() > 2 * keep_last_) stream.text.erase(0, stream.text.size() - keep_last_);
  } else {
    const auto room = kLargestOutput - stream.text.size();
    stream.text.append(buffer.data(), std::min(static_cast<std::size_t>(length), room));
  }
  changed_.notify_all();
  return true;
}

std::optional<int> ChildProcess::wait(Duration timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [this] { return status_.has_value(); });
  return status_;
}

void ChildProcess::signal(int number) {
  std::scoped_lock lock(mutex_);
  if (!status_) ::kill(pid_, number);
}

std::string ChildProcess::output() const {
  std::scoped_lock lock(mutex_);
  return output_.text;
}

std::string ChildProcess::errors() const {
  std::scoped_lock lock(mutex_);
  return errors_.text;
}

bool ChildProcess::wait_for(std::string_view text, Duration timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return status_.has_value() || contains(text); });
  return contains(text);
}

bool ChildProcess::contains(std::string_view text) const {
  return output_.text.contains(text) || errors_.text.contains(text);
}

}  // namespace doxlab::net
