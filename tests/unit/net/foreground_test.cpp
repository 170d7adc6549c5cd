#include "net/foreground.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "net/file_descriptor.hpp"
#include "net/network_namespace.hpp"
#include "net/private_files.hpp"
#include "net/system_error.hpp"

namespace doxlab::net {
namespace {

/// Each in a thread of its own, since the namespaces of the calling thread change.
int run_apart(const std::vector<std::string>& command, const ForegroundOptions& options = {}) {
  int status = -1;
  run_in_thread([&] { status = run_in_foreground(command, options); });
  return status;
}

FileDescriptor temporary_file() {
  return FileDescriptor(checked(::open("/tmp", O_TMPFILE | O_RDWR, 0600), "make a temporary file"));
}

std::string content_of(const FileDescriptor& fd) {
  std::string text(4096, '\0');
  text.resize(static_cast<std::size_t>(
      checked(static_cast<int>(::pread(fd.get(), text.data(), text.size(), 0)), "read")));
  return text;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(RunInForeground, GivesTheStatusAsAShellDoes) {
  EXPECT_EQ(run_apart({"true"}), 0);
  EXPECT_EQ(run_apart({"sh", "-c", "exit 42"}), 42);
  EXPECT_EQ(run_apart({"sh", "-c", "kill -KILL $$"}), 128 + SIGKILL);
}

TEST(RunInForeground, SaysWhatCannotBeStarted) {
  const auto error_of = [](const std::string& program) {
    try {
      run_apart({program});
    } catch (const std::system_error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(program));
      return error.code().value();
    }
    return 0;
  };
  EXPECT_EQ(error_of("no-such-program-here"), ENOENT);
  EXPECT_EQ(error_of("/no/such/program"), ENOENT);
  EXPECT_EQ(error_of("/etc/passwd"), EACCES);
}

TEST(RunInForeground, ProgramGetsTheEnvironmentAndTheDescriptorsThatItIsGiven) {
  const auto given = temporary_file();
  const auto kept_back = temporary_file();
  const auto script = "echo $DOXLAB_WORD >&" + std::to_string(given.get()) + "; test ! -e /proc/self/fd/" +
                      std::to_string(kept_back.get());
  // dash knows descriptors of one digit only.
  EXPECT_EQ(run_apart({"bash", "-c", script},
                      {.environment = {{"DOXLAB_WORD", "given"}}, .inherited = {given.get()}}),
            0);
  EXPECT_EQ(content_of(given), "given\n");
}

TEST(RunInForeground, SignalsGoToTheProcessThatItTells) {
  EXPECT_EQ(run_apart({"sh", "-c", "exec sleep 1000"}, {.on_started = [](int pid) { ::kill(pid, SIGTERM); }}),
            128 + SIGTERM);
}

TEST(InheritedDescriptors, AreThoseWithoutCloseOnExec) {
  const auto inherited = temporary_file();
  const FileDescriptor own(::fcntl(inherited.get(), F_DUPFD_CLOEXEC, 0));
  EXPECT_THAT(inherited_descriptors(), testing::Contains(inherited.get()));
  EXPECT_THAT(inherited_descriptors(), testing::Not(testing::Contains(own.get())));
  EXPECT_THAT(inherited_descriptors(), testing::Each(testing::Gt(2)));
}

TEST(PrivateFiles, AreSeenByTheThreadAndItsChildrenAlone) {
  const auto passwd = read_file("/etc/passwd");
  const auto group = read_file("/etc/group");
  std::string content = "one\n";
  for (int k = 0; k < 5000; ++k) content += "a long line of a long file\n";
  run_in_thread([&] {
    const std::vector<PrivateFile> files = {{"/etc/passwd", content}, {"/etc/group", ""}};
    const auto shown = show_private_files(files);
    ASSERT_TRUE(shown) << shown.error().message;
    EXPECT_EQ(read_file("/etc/passwd"), content);
    EXPECT_EQ(read_file("/etc/group"), "");
    run_in_thread([&] { EXPECT_EQ(read_file("/etc/passwd"), content) << "a thread that it started"; });
    // Last, since a thread whose children get a process namespace can start no threads.
    EXPECT_EQ(run_in_foreground({"sh", "-c", "test \"$(head -n 1 /etc/passwd)\" = one"}, {}), 0);
    // The folder that was used meanwhile is back.
    EXPECT_TRUE(std::filesystem::exists("/tmp"));
    EXPECT_THAT(read_file("/proc/thread-self/mountinfo"),
                testing::Not(testing::HasSubstr(" /tmp rw,nosuid,nodev,noexec")));
  });
  EXPECT_EQ(read_file("/etc/passwd"), passwd);
  EXPECT_EQ(read_file("/etc/group"), group);
  EXPECT_THAT(read_file("/proc/self/mountinfo"), testing::Not(testing::HasSubstr("- tmpfs doxlab")));
}

TEST(PrivateFiles, MissingFileIsNamed) {
  run_in_thread([] {
    const std::vector<PrivateFile> files = {{"/etc/no-such-file", "x"}};
    const auto shown = show_private_files(files);
    ASSERT_FALSE(shown);
    EXPECT_THAT(shown.error().message, testing::HasSubstr("/etc/no-such-file"));
  });
}

}  // namespace
}  // namespace doxlab::net
