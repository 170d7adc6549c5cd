// Nothing outlives the program, however it ends; and what was measured until Ctrl-C is not lost.

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>

#include "net/netlink.hpp"
#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/running.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

namespace fs = std::filesystem;
using test::is_in_the_middle;
using test::Running;

TEST(Killed, LeavesNoNamespaceNoProcessAndNoDevice) {
  const test::TemporaryFolder folder;
  const auto own_namespace = test::link_target("/proc/self/ns/net");
  const auto devices = net::device_names();
  const auto names = test::run_program({"ip", "netns", "list"});
  Running run(test::doxlab({"packets", "-n", "200", "--json", folder.file("out.json")}), folder.file("log"));
  ASSERT_TRUE(is_in_the_middle(run)) << folder.read("log");
  auto namespaces = test::network_namespaces_of(run.process());
  namespaces.erase(own_namespace);
  EXPECT_GE(namespaces.size(), 2u) << "one for each end of the lab";
  EXPECT_EQ(net::device_names(), devices) << "while it runs: its devices belong to its namespaces";

  run.kill(SIGKILL);
  ASSERT_EQ(run.wait(20s), 128 + SIGKILL);
  // No child of it is left to us.
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  // Only processes that were there then: a namespace's number may be given to somebody else's soon.
  const auto there = test::processes();
  for (const auto end = monotonic_now() + 20s; test::is_held(namespaces, there) && monotonic_now() < end;)
    ::usleep(20'000);
  EXPECT_FALSE(test::is_held(namespaces, there));
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
