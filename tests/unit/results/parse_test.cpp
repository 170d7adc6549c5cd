// What a run wrote is read back whole; what it did not write is refused with a sentence.
#include <gmock/gmock.h>

#include <random>

#include "runs.hpp"

namespace doxlab::results {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& json) {
  const auto run = parse_loss_run(json);
  return run ? "read without error" : run.error().message;
}

TEST(ParseLossRun, ReadsWhatWasWritten) {
  auto run = test::loss_run(20, Shard{1, 3});
  run.parts.push_back({.command_line = "a", .shard = Shard{2, 3}, .samples = 7});
  run.results["doq"].quantiles.push_back(
      {.p = 0.5, .ms = 81.25, .censored = false, .samples_needed = 6, .low_ms = 80});
  run.samples[2].reason = "quotes \" and \\ and \n and ü";
  const auto json = to_json(run);
  const auto again = parse_loss_run(json);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json(*again), json);
  EXPECT_EQ(again->shard, (Shard{1, 3}));
  EXPECT_FALSE(again->results.at("doq").quantiles.front().high_ms);
}

TEST(ParseLossRun, SaysWhereItIsBroken) {
  const auto json = to_json(test::loss_run(5));
  EXPECT_THAT(error_of(json.substr(0, json.size() / 2)), HasSubstr("line "));
  EXPECT_THAT(error_of(replaced(json, "\"repetitions\": 5", "\"repetitions\": \"five\"")),
              HasSubstr("line 12"));
  EXPECT_THAT(error_of(""), HasSubstr("broken"));
  EXPECT_THAT(error_of("[1, 2]"), HasSubstr("broken"));
  EXPECT_THAT(error_of("not JSON"), HasSubstr("line 1, column 1"));
}

TEST(ParseLossRun, TellsNewerAndOlderFilesAndOtherExperiments) {
  const auto json = to_json(test::loss_run(5));
  EXPECT_THAT(error_of(replaced(json, "\"schema_version\": 1", "\"schema_version\": 2")),
              AllOf(HasSubstr("newer doxlab"), HasSubstr("schema 2")));
  EXPECT_THAT(error_of(replaced(json, "\"schema_version\": 1", "\"schema_version\": 0")),
              HasSubstr("older doxlab"));
  EXPECT_THAT(error_of(replaced(json, "\"experiment\": \"loss\"", "\"experiment\": \"packets\"")),
              HasSubstr("\"packets\""));
  EXPECT_THAT(error_of("{}"), HasSubstr("no results of doxlab"));
  // A newer file may hold anything, as long as it says what it is.
  EXPECT_THAT(error_of(R"({"future": [{"x": 1}], "schema_version": 7, "experiment": "loss"})"),
              HasSubstr("newer doxlab"));
}

TEST(ParseLossRun, NamesFieldsThatAreMissingOrUnknown) {
  const auto json = to_json(test::loss_run(5));
  EXPECT_THAT(error_of(replaced(json, "\"repetitions\": 5,", "")),
              HasSubstr("the field \"repetitions\" is missing"));
  EXPECT_THAT(error_of(replaced(json, "\"repetitions\": 5", "\"repetition\": 5")),
              HasSubstr("does not know, \"repetition\""));
}

TEST(ParseLossRun, RefusesTimesAndShardsThatCannotBe) {
  const auto json = to_json(test::loss_run(5));
  EXPECT_THAT(error_of(replaced(json, "\"ms\": 80.5", "\"ms\": -1")), HasSubstr("no time"));
  EXPECT_THAT(error_of(replaced(json, "\"ms\": 80.5", "\"ms\": 1e999")),
              testing::Not(HasSubstr("without error")));
  EXPECT_THAT(error_of(replaced(json, "\"timeout_s\": 15", "\"timeout_s\": -15")), HasSubstr("timeout"));
  auto run = test::loss_run(5);
  run.shard = Shard{3, 3};
  EXPECT_THAT(error_of(to_json(run)), HasSubstr("shard 3 of 3"));
}

TEST(ParseLossRun, DeepNestingIsRefusedNotFollowed) {
  const std::string deep(1'000'000, '[');
  EXPECT_NE(error_of(deep), "read without error");
  EXPECT_NE(error_of(R"({"x": )" + deep), "read without error");
  EXPECT_NE(error_of(R"({"schema_version": 1, "experiment": "loss", "samples": )" + deep),
            "read without error");
}

TEST(ParseLossRun, SurvivesDamage) {
  const auto json = to_json(test::loss_run(6));
  const std::uint64_t seed = 42;
  RecordProperty("seed", std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 3000; ++i) {
    auto damaged = json;
    for (auto hits = random() % 4 + 1; hits > 0; --hits) {
      const auto at = random() % damaged.size();
      switch (random() % 3) {
        case 0:
          damaged[at] = static_cast<char>(random());
          break;
        case 1:
          damaged.erase(at, random() % 20);
          break;
        default:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 20));
      }
    }
    const auto run = parse_loss_run(damaged);
    EXPECT_TRUE(run || !run.error().message.empty()) << "seed " << seed << ", round " << i;
  }
}

TEST(ParseLossSample, ReadsALine) {
  const auto sample = test::loss_sample("doh3", 17, 123.5);
  const auto again = parse_loss_sample(to_json_line(sample));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json_line(*again), to_json_line(sample));
  EXPECT_FALSE(parse_loss_sample("{\"transport\":\"doq\"}"));
  EXPECT_FALSE(parse_loss_sample(""));
}

}  // namespace
}  // namespace doxlab::results
