// Parts of made-up runs, joined.
#include "experiment/merge.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "experiment/loss.hpp"
#include "experiment/sweep_file.hpp"
#include "support/temporary_folder.hpp"
#include "unit/results/runs.hpp"

namespace doxlab::experiment {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<NamedLossRun> shards(std::uint64_t repetitions, std::uint64_t of) {
  std::vector<NamedLossRun> out;
  for (std::uint64_t index = 0; index < of; ++index)
    out.push_back({std::format("part {}", index), test::loss_run(repetitions, results::Shard{index, of})});
  return out;
}

std::string error_of(std::vector<NamedLossRun> parts) {
  const auto merged = merge_loss(std::move(parts));
  return merged ? "joined" : merged.error().message;
}

TEST(MergeLoss, PartsInAnyOrderAreTheWhole) {
  auto whole = test::loss_run(100);
  for (auto& [name, summary] : whole.results) {
    std::vector<results::LossSample> mine;
    std::ranges::copy_if(whole.samples, std::back_inserter(mine),
                         [&](const auto& s) { return s.transport == name; });
    const auto transport = summary.transport;
    summary = summarize_loss(mine, 15000);
    summary.transport = transport;
  }
  auto parts = shards(100, 3);
  std::swap(parts[0], parts[2]);
  auto merged = merge_loss(std::move(parts));
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(merged->missing, "");
  auto& run = merged->run;
  EXPECT_TRUE(run.complete);
  EXPECT_EQ(run.parts.size(), 3u);
  EXPECT_EQ(run.duration_s, 30);
  EXPECT_EQ(run.precision.packets, 300u);
  // But for where and when, it is the whole.
  run.parts.clear();
  run.command_line = whole.command_line;
  run.duration_s = whole.duration_s;
  run.precision.packets = whole.precision.packets;
  EXPECT_EQ(results::to_json(run), results::to_json(whole));
}

TEST(MergeLoss, MergesOfMergesAreTheSame) {
  auto parts = shards(50, 4);
  auto left = merge_loss({parts[0], parts[3]}), right = merge_loss({parts[1], parts[2]});
  ASSERT_TRUE(left && right);
  EXPECT_FALSE(left->run.complete);
  const auto merged = merge_loss({{"left", left->run}, {"right", right->run}});
  const auto at_once = merge_loss(parts);
  ASSERT_TRUE(merged && at_once);
  EXPECT_EQ(merged->missing, "");
  EXPECT_EQ(merged->run.parts.size(), 4u);
  EXPECT_EQ(results::to_json_line(merged->run.samples.back()),
            results::to_json_line(at_once->run.samples.back()));
  EXPECT_EQ(merged->run.results.at("doq").p50, at_once->run.results.at("doq").p50);
}

TEST(MergeLoss, TakesTheWorstPrecision) {
  auto parts = shards(10, 2);
  parts[1].run.precision = {.packets = 7,
                            .p50_us = 5,
                            .p99_us = 2000,
                            .max_us = 9000,
                            .real_time_priority = false,
                            .within_1_ms = false};
  const auto merged = merge_loss(parts);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->run.precision.p50_us, 20);
  EXPECT_EQ(merged->run.precision.p99_us, 2000);
  EXPECT_FALSE(merged->run.precision.within_1_ms);
  EXPECT_FALSE(merged->run.precision.real_time_priority);
}

TEST(MergeLoss, SaysWhatIsMissing) {
  auto parts = shards(100, 4);
  parts.erase(parts.begin() + 2);
  const auto merged = merge_loss(parts);
  ASSERT_TRUE(merged);
  EXPECT_FALSE(merged->run.complete);
  EXPECT_EQ(
      merged->missing,
      "no file is shard 2 of 4\ndoq: 25 of 100 samples are missing\ndot: 25 of 100 samples are missing\n");
  // A part that was interrupted.
  parts = shards(100, 2);
  parts[1].run.samples.pop_back();
  parts[1].run.complete = false;
  const auto interrupted = merge_loss(parts);
  ASSERT_TRUE(interrupted);
  EXPECT_EQ(interrupted->missing, "dot: 1 of 100 samples are missing\n");
}

TEST(MergeLoss, RefusesPartsOfDifferentRuns) {
  const auto refused = [](auto change) {
    auto parts = shards(10, 2);
    change(parts[1].run);
    return error_of(parts);
  };
  EXPECT_EQ(refused([](auto&) {}), "joined");
  const auto named = [](const std::string& what) {
    return AllOf(StartsWith("part 0 and part 1 are not parts of one run: "), HasSubstr(what));
  };
  EXPECT_THAT(refused([](auto& r) { r.environment.doxlab_version = "2"; }),
              named("the version of doxlab is 1 in one and 2 in the other"));
  EXPECT_THAT(refused([](auto& r) { r.environment.openssl = "4"; }), named("OpenSSL"));
  EXPECT_THAT(refused([](auto& r) { r.link.seed = 9; }), named("the seed is 1 in one and 9 in the other"));
  EXPECT_THAT(refused([](auto& r) { r.repetitions = 11; }), named("(-n) is 10 in one and 11 in the other"));
  EXPECT_THAT(refused([](auto& r) { r.options["loss"] = "3"; }),
              named("loss is 2 in one and 3 in the other"));
  EXPECT_THAT(refused([](auto& r) { r.options["new"] = "x"; }),
              named("new is not given in one and x in the other"));
  EXPECT_THAT(refused([](auto& r) { r.link.loss_percent = 3; }), named("the link"));
  EXPECT_THAT(refused([](auto& r) { r.endpoints.chain_bytes = 5; }), named("endpoints"));
  EXPECT_THAT(refused([](auto& r) { r.results.erase("dot"); }),
              named("transports is doq,dot in one and doq in the other"));
  EXPECT_THAT(refused([](auto& r) { r.environment.kernel_settings["tcp_congestion_control"] = "bbr"; }),
              named("cubic in one and bbr"));
}

TEST(MergeLoss, RefusesOverlap) {
  auto parts = shards(10, 2);
  parts.push_back({"again", parts[1].run});
  EXPECT_EQ(error_of(parts), "part 1 and again overlap: both have sample 1 of doq");
  EXPECT_THAT(error_of({{"whole", test::loss_run(10)}, parts[0]}), HasSubstr("overlap"));
}

TEST(MergeLoss, RefusesSamplesThatAreNotOfTheRun) {
  auto parts = shards(10, 2);
  parts[0].run.samples.push_back(test::loss_sample("doq", 10, 5));
  EXPECT_THAT(error_of(parts), HasSubstr("part 0: sample 10 of doq is not of this run"));
  parts = shards(10, 2);
  parts[1].run.samples.push_back(test::loss_sample("carrier pigeon", 1, 5));
  EXPECT_THAT(error_of(parts), HasSubstr("carrier pigeon"));
  EXPECT_EQ(error_of({}), "nothing to merge");
}

/// A file with these cells of the sweep, in the order given.
std::string sweep_file(const test::TemporaryFolder& folder, const std::string& name,
                       const results::SweepHeader& header, const std::vector<std::uint64_t>& cells) {
  std::string text = results::to_json_line(header) + '\n';
  for (const auto cell : cells) text += results::to_json_line(test::sweep_cell(header, cell)) + '\n';
  return folder.write(name, text);
}

TEST(MergeSweeps, PartsInAnyOrderAreTheWhole) {
  const test::TemporaryFolder folder;
  const auto whole = sweep_file(folder, "whole", test::sweep_header(), {0, 1, 2, 3, 4, 5});
  const auto one = sweep_file(folder, "one", test::sweep_header(results::Shard{1, 2}), {5, 1, 3});
  const auto zero = sweep_file(folder, "zero", test::sweep_header(results::Shard{0, 2}), {0, 4, 2});
  const auto merged = merge_sweeps({one, zero}, folder.file("out"));
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(merged->missing, "");
  EXPECT_EQ(folder.read("out"), folder.read("whole"));
  EXPECT_EQ(merged->run.cells_finished, 6u);
  ASSERT_EQ(merged->run.rows.size(), 12u);
  // By cell, then in the order in which people compare transports.
  EXPECT_EQ(merged->run.rows[0].name, "dot");
  EXPECT_EQ(merged->run.rows[1].name, "doq");
  EXPECT_EQ(merged->run.rows[11].cell, 5u);
  EXPECT_THAT(merged->run.rows[11].point, testing::ElementsAre("100", "2"));
  EXPECT_EQ(merged->run.rows[0].latency.n, 4u);
  EXPECT_EQ(merged->run.rows[0].round_trips, 2u);
  EXPECT_EQ(merged->run.rows[0].bytes_total, 1001u);  // the lower of the two middle ones of 1000 to 1003
}

TEST(MergeSweeps, SaysWhatIsMissing) {
  const test::TemporaryFolder folder;
  const auto one = sweep_file(folder, "one", test::sweep_header(results::Shard{1, 3}), {1});
  const auto two = sweep_file(folder, "two", test::sweep_header(results::Shard{2, 3}), {5, 2});
  const auto merged = merge_sweeps({one, two}, folder.file("out"));
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(merged->missing, "no file is shard 0 of 3\n3 of 6 cells are missing\n");
  // What was joined is a sweep of which cells remain to be run.
  const auto contents = read_sweep_file(folder.file("out"), {});
  ASSERT_TRUE(contents) << contents.error().message;
  EXPECT_THAT(contents->cells, testing::ElementsAre(1, 2, 5));
  EXPECT_FALSE(contents->header.shard);
}

TEST(MergeSweeps, RefusesOtherSweepsOverlapAndBrokenFilesAndThenWritesNothing) {
  const test::TemporaryFolder folder;
  const auto good = sweep_file(folder, "good", test::sweep_header(), {0, 1});
  auto header = test::sweep_header();
  header.options["seed"] = "2";
  header.fingerprint = results::fingerprint(header);
  const auto other = sweep_file(folder, "other", header, {2});
  const auto overlapping = sweep_file(folder, "overlapping", test::sweep_header(), {3, 1});
  const auto broken = folder.write("broken", folder.read("good") + "{\"cell\":3}\n");
  const auto refused = [&](const std::string& path) {
    const auto merged = merge_sweeps({good, path}, folder.file("out"));
    EXPECT_FALSE(std::ifstream(folder.file("out")).is_open());
    return merged ? "joined" : merged.error().message;
  };
  EXPECT_THAT(refused(other), HasSubstr("seed is 1 in one and 2 in the other"));
  EXPECT_THAT(refused(overlapping), HasSubstr("overlap: both have cell 1"));
  EXPECT_THAT(refused(broken), HasSubstr("broken, line 4: "));
  EXPECT_THAT(refused(folder.file("nowhere")), HasSubstr("No such file"));
  EXPECT_THAT(refused(folder.write("empty", "")), HasSubstr("empty"));
}

}  // namespace
}  // namespace doxlab::experiment
