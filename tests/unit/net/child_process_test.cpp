#include "net/child_process.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "net/network_namespace.hpp"
#include "net/system_error.hpp"

namespace doxlab::net {
namespace {

TEST(ChildProcess, OutputErrorsAndStatusAreKept) {
  ChildProcess child({"sh", "-c", "echo out; echo err >&2; exit 7"});
  EXPECT_EQ(child.wait(10s), 7);
  EXPECT_EQ(child.output(), "out\n");
  EXPECT_EQ(child.errors(), "err\n");
}

TEST(ChildProcess, ProgramThatDoesNotExistIsNamed) {
  try {
    ChildProcess child({"no-such-program-of-doxlab"});
    FAIL() << "it started";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), ENOENT);
    EXPECT_THAT(error.what(), testing::HasSubstr("no-such-program-of-doxlab"));
  }
}

TEST(ChildProcess, WaitGivesUpAndDestructorKills) {
  const auto start = monotonic_now();
  {
    ChildProcess child({"sleep", "1000"});
    EXPECT_FALSE(child.wait(10ms));
  }
  EXPECT_LT(monotonic_now() - start, 10s);
}

TEST(ChildProcess, SignalsReachTheProgram) {
  ChildProcess child(
      {"sh", "-c", "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.01; done"});
  ASSERT_TRUE(child.wait_for("ready", 10s));
  child.signal(SIGTERM);
  EXPECT_EQ(child.wait(10s), 3);
  EXPECT_EQ(child.output(), "ready\nasked\n");
}

TEST(ChildProcess, DeathBySignalIsToldAsAShellDoes) {
  ChildProcess child({"sh", "-c", "kill -ABRT $$"});
  EXPECT_EQ(child.wait(10s), 128 + SIGABRT);
}

TEST(ChildProcess, EnvironmentAndFolderAreTaken) {
  ChildProcess child({"sh", "-c", "echo $DOXLAB_TEST_VALUE; pwd"},
                     {.environment = {{"DOXLAB_TEST_VALUE", "a b"}}, .working_directory = "/"});
  EXPECT_EQ(child.wait(10s), 0);
  EXPECT_EQ(child.output(), "a b\n/\n");
}

TEST(ChildProcess, FolderThatDoesNotExistIsAnError) {
  EXPECT_THROW(ChildProcess({"true"}, {.working_directory = "/no/such/folder"}), std::system_error);
}

TEST(ChildProcess, OutputGoesToAFile) {
  const auto path = std::filesystem::temp_directory_path() / ("doxlab-child-" + std::to_string(::getpid()));
  ChildProcess child({"sh", "-c", "echo one; echo two >&2"}, {.output_file = path});
  EXPECT_EQ(child.wait(10s), 0);
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "one\ntwo\n");
  std::filesystem::remove(path);
}

TEST(ChildProcess, WaitForEndsWhenTheProgramEndsWithoutSaying) {
  ChildProcess child({"echo", "something else"});
  EXPECT_FALSE(child.wait_for("listening", 10s));
}

TEST(ChildProcess, BelongsToTheNamespaceOfItsThread) {
  std::string here, there;
  const auto devices = [] {
    ChildProcess child({"sh", "-c", "readlink /proc/self/ns/net"});
    EXPECT_EQ(child.wait(10s), 0);
    return child.output();
  };
  here = devices();
  NetworkNamespace::make().run([&] { there = devices(); });
  EXPECT_THAT(there, testing::StartsWith("net:["));
  EXPECT_NE(here, there);
}

TEST(ChildProcess, LivesOnAfterTheThreadThatStartedIt) {
  std::optional<ChildProcess> child;
  run_in_thread([&] {
    child.emplace(std::vector<std::string>{"cat", "/dev/zero"}, ChildOptions{.output_file = "/dev/null"});
  });
  EXPECT_FALSE(child->wait(50ms));
}

/// Processes whose command line contains `text`.
int processes_with(const std::string& text) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    try {
      found += std::string(std::istreambuf_iterator<char>(file), {}).contains(text);
    } catch (const std::ios_base::failure&) {  // it ended between opening and reading
    }
  }
  return found;
}

bool all_are_gone(const std::string& text) {
  const auto deadline = monotonic_now() + 10s;
  while (processes_with(text) > 0)
    if (monotonic_now() > deadline) return false;
  return true;
}

TEST(ChildProcess, GrandchildrenEndWithIt) {
  const auto mark = "1000." + std::to_string(::getpid()) + "1";
  {
    ChildProcess child({"sh", "-c", "setsid sleep " + mark + " & echo started; wait"});
    ASSERT_TRUE(child.wait_for("started", 10s));
  }
  EXPECT_TRUE(all_are_gone(mark));
}

TEST(ChildProcess, NothingSurvivesAKilledParent) {
  const auto mark = "1000." + std::to_string(::getpid()) + "2";
  int ready[2];
  checked(::pipe(ready), "pipe");
  const pid_t parent = ::fork();
  if (parent == 0) {
    ChildProcess child({"sh", "-c", "sleep " + mark + " & echo started; wait"});
    child.wait_for("started", 10s);
    static_cast<void>(!::write(ready[1], "x", 1));
    while (true) ::pause();
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_GT(processes_with(mark), 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(all_are_gone(mark));
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace doxlab::net
