#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/study.hpp"

namespace doxlab::results {
namespace {

using testing::HasSubstr;

PacketsRun some_packets() {
  PacketsRun run;
  run.command_line = "doxlab packets";
  run.started = "2026-01-02T03:04:05Z";
  run.duration_s = 1.5;
  auto& dot = run.results["dot"];
  dot.transport = "DoT";
  dot.samples = 1;
  dot.ms = 120.5;
  dot.raw.push_back({.sample = 0, .outcome = "answered", .ms = 120.5, .causes_ms = {{"query", 40.25}}});
  dot.accounting.emplace();
  dot.accounting->causes["query"] = {.name = "query", .lookups = 1, .mean_ms = 40.25, .max_ms = 40.25};
  return run;
}

TEST(Study, ReadsBackWhatItWrote) {
  Study study;
  study.command_line = "doxlab suite";
  study.packets = some_packets();
  study.loss.emplace().results["doq"].p99 = 250.0;
  const auto json = to_json(study);
  const auto again = parse_study(json);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json(*again), json);
  EXPECT_FALSE(again->pq);
}

TEST(Study, OneExperimentIsAStudyOfItAlone) {
  const auto study = parse_study(to_json(some_packets()));
  ASSERT_TRUE(study) << study.error().message;
  ASSERT_TRUE(study->packets);
  EXPECT_EQ(study->packets->results.at("dot").ms, 120.5);
  EXPECT_EQ(study->command_line, "doxlab packets");
  EXPECT_EQ(study->started, "2026-01-02T03:04:05Z");
  EXPECT_FALSE(study->loss);
}

TEST(Study, OlderFilesWithoutAFieldAndNewerWithOneMoreAreRead) {
  const auto study = parse_study(R"({"schema_version":1,"experiment":"loss","surprise":[1,{"a":2}],)"
                                 R"("results":{"dot":{"transport":"DoT","n":300,"p50":120.9,"also":null}}})");
  ASSERT_TRUE(study) << study.error().message;
  EXPECT_EQ(study->loss->results.at("dot").n, 300u);
  EXPECT_FALSE(study->loss->results.at("dot").accounting);
}

TEST(Study, WhatIsNoneIsRefusedWithTheReason) {
  const auto reason = [](std::string_view text) {
    const auto study = parse_study(text);
    return study ? std::string("accepted") : study.error().message;
  };
  EXPECT_THAT(reason(""), HasSubstr("line 1"));
  EXPECT_THAT(reason("{}"), HasSubstr("no results of doxlab"));
  EXPECT_THAT(reason("[1, 2]"), HasSubstr("not what doxlab writes"));
  EXPECT_THAT(reason(R"({"schema_version":99,"experiment":"loss"})"), HasSubstr("newer"));
  EXPECT_THAT(reason(R"({"schema_version":1,"experiment":"query"})"), HasSubstr("\"query\""));
  EXPECT_THAT(reason(R"({"schema_version":1,"experiment":"loss","results":{"dot":{"n":"many"}}})"), HasSubstr("column"));
  const auto whole = to_json(some_packets());
  for (std::size_t length = 0; length + 2 < whole.size(); length += 7)
    EXPECT_FALSE(parse_study(std::string_view(whole).substr(0, length))) << length;
}

}  // namespace
}  // namespace doxlab::results
