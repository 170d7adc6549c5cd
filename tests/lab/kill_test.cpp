// Nothing outlives the program, however it ends; and what was measured until Ctrl-C is not lost.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "net/netlink.hpp"
#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

namespace fs = std::filesystem;

/// doxlab as a child without a process namespace around it, so that what it leaves behind can be seen.
/// Whatever it leaves becomes this process's child.
class Running {
 public:
  explicit Running(const test::Command& command, const std::string& output) {
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

  fs::path process() const { return "/proc/" + std::to_string(pid_); }
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
std::string link_target(const fs::path& link) {
  std::error_code gone;
  const auto target = fs::read_symlink(link, gone);
  return gone ? "" : target.string();
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code gone;
  for (auto entry = fs::directory_iterator(folder, gone); !gone && entry != fs::directory_iterator();
       entry.increment(gone))
    out.push_back(entry->path());
  return out;
}

/// The network namespaces that a process's threads are in, or that it holds open.
std::set<std::string> network_namespaces_of(const fs::path& process) {
  std::set<std::string> out;
  for (const auto& thread : entries(process / "task"))
    if (const auto target = link_target(thread / "ns/net"); target.starts_with("net:")) out.insert(target);
  for (const auto& file : entries(process / "fd"))
    if (const auto target = link_target(file); target.starts_with("net:")) out.insert(target);
  return out;
}

std::set<fs::path> processes() {
  std::set<fs::path> out;
  for (const auto& entry : entries("/proc"))
    if (std::isdigit(static_cast<unsigned char>(entry.filename().string().front()))) out.insert(entry);
  return out;
}

/// Packets that the client's device has sent, as the kernel counts them; 0 while there is no such device.
std::uint64_t packets_sent_in_lab(const fs::path& process) {
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
testing::AssertionResult is_in_the_middle(Running& run) {
  for (const auto end = monotonic_now() + test::kProgramLimit; packets_sent_in_lab(run.process()) < 200;) {
    if (run.wait(10ms)) return testing::AssertionFailure() << "it ended by itself with " << *run.wait(0s);
    if (monotonic_now() > end) return testing::AssertionFailure() << "it does not measure";
  }
  return testing::AssertionSuccess();
}

bool is_held(const std::set<std::string>& namespaces, const std::set<fs::path>& processes) {
  for (const auto& process : processes)
    for (const auto& name : network_namespaces_of(process))
      if (namespaces.contains(name)) return true;
  return false;
}

TEST(Killed, LeavesNoNamespaceNoProcessAndNoDevice) {
  const test::TemporaryFolder folder;
  const auto own_namespace = link_target("/proc/self/ns/net");
  const auto devices = net::device_names();
  const auto names = test::run_program({"ip", "netns", "list"});
  Running run(test::doxlab({"packets", "-n", "200", "--json", folder.file("out.json")}), folder.file("log"));
  ASSERT_TRUE(is_in_the_middle(run)) << folder.read("log");
  auto namespaces = network_namespaces_of(run.process());
  namespaces.erase(own_namespace);
  EXPECT_GE(namespaces.size(), 2u) << "one for each end of the lab";
  EXPECT_EQ(net::device_names(), devices) << "while it runs: its devices belong to its namespaces";

  run.kill(SIGKILL);
  ASSERT_EQ(run.wait(20s), 128 + SIGKILL);
  // No child of it is left to us.
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  // Only processes that were there then: a namespace's number may be given to somebody else's soon.
  const auto there = processes();
  for (const auto end = monotonic_now() + 20s; is_held(namespaces, there) && monotonic_now() < end;)
    ::usleep(20'000);
  EXPECT_FALSE(is_held(namespaces, there));
  EXPECT_EQ(test::run_program({"ip", "netns", "list"}).output, names.output);
  EXPECT_EQ(net::device_names(), devices);
  // Nor half a result under the name of a whole one.
  EXPECT_FALSE(fs::exists(folder.file("out.json")));
}

/// What must hold of a run that was ended after some of `asked` lookups for each transport.
void expect_partial(const test::Json& run, std::size_t asked) {
  EXPECT_FALSE(run["complete"].get<bool>());
  std::size_t samples = 0;
  for (const auto& [transport, result] : run["results"].get_object()) {
    SCOPED_TRACE(transport);
    const auto& raw = result["raw"].get_array();
    EXPECT_LT(raw.size(), asked);
    EXPECT_EQ(test::number(result, "samples"), static_cast<double>(raw.size()));
    for (const auto& sample : raw) EXPECT_EQ(test::text(sample, "outcome"), "answered");
    EXPECT_EQ(result.contains("ms"), !raw.empty());
    samples += raw.size();
  }
  EXPECT_GT(samples, 0u);
}

class Interrupted : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, Interrupted, testing::Values(SIGINT, SIGTERM), [](const auto& param) {
  return std::string(param.param == SIGINT ? "SIGINT" : "SIGTERM");
});

TEST_P(Interrupted, GivesWhatWasMeasured) {
  const test::TemporaryFolder folder;
  Running run(test::doxlab({"packets", "-n", "200", "--json", folder.file("out.json")}), folder.file("log"));
  ASSERT_TRUE(is_in_the_middle(run)) << folder.read("log");
  run.kill(GetParam());
  EXPECT_EQ(run.wait(test::kProgramLimit), 130) << folder.read("log");
  expect_partial(test::parse_json(folder.read("out.json")), 200);
  EXPECT_THAT(folder.read("log"), testing::HasSubstr("Do53"));
}

bool has_content(const fs::path& file) {
  std::error_code missing;
  const auto size = fs::file_size(file, missing);
  return !missing && size > 0;
}

TEST(InterruptedOnce, LossRunKeepsTheSamplesInItsFile) {
  const test::TemporaryFolder folder;
  Running run(test::doxlab({"loss", "-n", "2000", "--json", folder.file("out.json"), "--samples",
                            folder.file("samples")}),
              folder.file("log"));
  // A sample comes late where the machine disturbed it: the lookup is made again.
  for (const auto end = monotonic_now() + 2 * test::kProgramLimit; !has_content(folder.file("samples"));) {
    ASSERT_FALSE(run.wait(20ms)) << folder.read("log");
    ASSERT_LT(monotonic_now(), end) << "no sample was written";
  }
  run.kill(SIGINT);
  EXPECT_EQ(run.wait(test::kProgramLimit), 130) << folder.read("log");
  const auto result = test::parse_json(folder.read("out.json"));
  EXPECT_FALSE(result["complete"].get<bool>());
  double answered = 0;
  std::set<double> lookups;
  for (const auto& [transport, summary] : result["results"].get_object()) {
    answered += test::number(summary, "n");
    lookups.insert(test::number(summary, "n") + test::number(summary, "timeouts") + test::number(summary, "disturbed"));
  }
  // What was in flight is the slow and the lost: only what is complete on all transports is summarised.
  EXPECT_EQ(lookups.size(), 1u) << "as many lookups of each transport";
  // Every line is whole, and all that was summarised is there.
  std::istringstream lines(folder.read("samples"));
  double written = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto sample = test::parse_json(line);
    written += test::text(sample, "outcome") == "answered" && !sample["disturbed"].get<bool>();
  }
  EXPECT_GE(written, answered);
  EXPECT_GT(written, 0);
}

TEST(InterruptedTwice, SecondSignalInsists) {
  const test::TemporaryFolder folder;
  Running run(test::doxlab({"packets", "-n", "200"}), folder.file("log"));
  ASSERT_TRUE(is_in_the_middle(run)) << folder.read("log");
  run.kill(SIGINT);
  run.kill(SIGTERM);
  EXPECT_EQ(run.wait(20s), 130);
}

}  // namespace
}  // namespace doxlab
