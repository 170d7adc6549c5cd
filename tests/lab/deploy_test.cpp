// The ways in which docs/sweeps.md splits a sweep, run as they are written, at a small size.

#include <gmock/gmock.h>

#include <filesystem>

#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

const std::string kGrid = "--grid delay=1,2 --grid loss=0,5 --only do53,doq --timeout 2 -n 3";

test::Finished run_shell(const std::string& script) {
  return test::run_program({"bash", "-euc", script}, 120s);
}

/// The cells of a sweep's file, and those of its samples that lost a packet.
std::map<double, std::string> losses_of(const std::string& ndjson) {
  std::map<double, std::string> out;
  std::istringstream lines(ndjson);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const auto cell = test::parse_json(line);
    auto& losses = out[test::number(cell, "cell")];
    // Do53 is one packet each way, whatever the machine does.
    for (const auto& sample : cell["samples"].get_array())
      if (test::text(sample, "transport") == "do53")
        losses += sample["lost_c2s"].dump().value_or("?") + sample["lost_s2c"].dump().value_or("?");
  }
  return out;
}

TEST(Deploy, SlurmTasksMakeThePartsOfTheSweep) {
  const test::TemporaryFolder folder;
  const auto script = std::string(DOXLAB_SOURCE_DIR) + "/deploy/slurm-array.sh";
  const auto task = [&](int index, const std::string& settings) {
    return run_shell(std::format("export DOXLAB={} OUT={} SLURM_ARRAY_TASK_ID={} {}\nexec {} {}",
                                 DOXLAB_BINARY, folder.path(), index, settings, script, kGrid));
  };
  const std::string array = "SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=2";
  for (const int index : {0, 1}) {
    const auto finished = task(index, array);
    ASSERT_EQ(finished.status, 0) << finished;
  }
  // A single task, submitted again: how many parts there are must be said.
  const std::string alone = "SLURM_ARRAY_TASK_COUNT=1 SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_MAX=2";
  const auto refused = task(2, alone);
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.errors, testing::HasSubstr("PARTS=8"));
  const auto told = task(2, alone + " PARTS=3");
  ASSERT_EQ(told.status, 0) << told;
  const auto merged =
      run_shell(std::format("cd {}; {} merge sweep.ndjson part-*.ndjson", folder.path(), DOXLAB_BINARY));
  ASSERT_EQ(merged.status, 0) << merged;

  const auto whole =
      run_shell(std::format("cd {}; {} sweep {} --out whole.ndjson", folder.path(), DOXLAB_BINARY, kGrid));
  ASSERT_EQ(whole.status, 0) << whole;
  const auto losses = losses_of(folder.read("whole.ndjson"));
  EXPECT_EQ(losses.size(), 4u);
  EXPECT_EQ(losses_of(folder.read("sweep.ndjson")), losses);
}

TEST(Deploy, XargsMakesThePartsOfTheSweep) {
  const test::TemporaryFolder folder;
  const auto finished = run_shell(
      std::format("cd {0}; seq 0 3 | xargs -P 1 -I{{}} {1} sweep {2} --shard {{}}/4 --out part-{{}}.ndjson; "
                  "{1} merge sweep.ndjson part-?.ndjson",
                  folder.path(), DOXLAB_BINARY, kGrid));
  ASSERT_EQ(finished.status, 0) << finished;
  EXPECT_EQ(losses_of(folder.read("sweep.ndjson")).size(), 4u);
}

TEST(Deploy, AnInterruptedSweepGoesOnWhereItStopped) {
  const test::TemporaryFolder folder;
  const auto command = test::doxlab({"sweep", "--grid", "delay=1,2,3,4", "--grid", "loss=0", "--only", "do53",
                                     "-n", "40", "--out", folder.file("sweep.ndjson")});
  {
    const auto child = test::start_program(command);
    ASSERT_TRUE(child->wait_for("1 of 4 cells done", 60s)) << child->errors();
    child->signal(SIGINT);
    EXPECT_EQ(child->wait(60s), 130) << child->errors();
    EXPECT_THAT(child->errors(), testing::HasSubstr("the same command goes on"));
    EXPECT_THAT(child->output(), testing::HasSubstr("INCOMPLETE"));
  }
  const auto before = folder.read("sweep.ndjson");
  const auto done = std::ranges::count(before, '\n') - 1;
  ASSERT_GE(done, 1);
  ASSERT_LT(done, 4);
  const auto again = test::run_program(command);
  ASSERT_EQ(again.status, 0) << again;
  EXPECT_THAT(again.errors, testing::HasSubstr(std::format("goes on after {} cells", done)));
  const auto after = folder.read("sweep.ndjson");
  EXPECT_TRUE(after.starts_with(before));
  EXPECT_EQ(std::ranges::count(after, '\n'), 5);
  // With nothing left to do it is the table.
  const auto nothing = test::run_program(command);
  EXPECT_EQ(nothing.status, 0);
  EXPECT_EQ(folder.read("sweep.ndjson"), after);
  EXPECT_EQ(nothing.output, again.output);
}

}  // namespace
}  // namespace doxlab
