#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "compare/compare.hpp"
#include "runs.hpp"

namespace doxlab::compare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const results::QuantityDifference& of(const results::Comparison& comparison, std::string_view quantity) {
  const auto& all = comparison.experiments.at(0).results.begin()->second.differences;
  const auto found = std::ranges::find(all, quantity, &results::QuantityDifference::quantity);
  EXPECT_NE(found, all.end()) << quantity;
  return *found;
}

results::Study study(results::PacketsRun run) {
  results::Study out;
  out.packets = std::move(run);
  return out;
}

constexpr double kTimes[] = {122.1, 122.3, 122.0, 122.4, 122.2, 122.6, 121.9, 122.3, 122.2};
constexpr double kLittleLater[] = {123.1, 123.3, 123.0, 123.4, 123.2, 123.6, 122.9, 123.3, 123.2};
constexpr double kRoundTripLess[] = {82.1, 82.3, 82.0, 82.4, 82.2, 82.6, 81.9, 82.3, 82.2};

TEST(Compare, ARoundTripAndBytesLessAreLower) {
  const auto it = compare(study(packets_run("doq", kTimes, 3, 5000)), study(packets_run("doq", kRoundTripLess, 2, 4000)));
  EXPECT_EQ(of(it, "ms").verdict, "lower");
  EXPECT_NEAR(of(it, "ms").delta.value(), -40, 1e-9);
  EXPECT_LT(of(it, "ms").high.value(), -39);
  EXPECT_EQ(of(it, "round_trips").verdict, "lower");
  EXPECT_EQ(of(it, "round_trips").delta, -1);
  EXPECT_EQ(of(it, "bytes_s2c").delta, -1000);
  EXPECT_EQ(of(it, "bytes_c2s").verdict, "same");
  EXPECT_EQ(of(it, "no_answer_percent").verdict, "same");
}

TEST(Compare, WhatTheMachineMovesFromRunToRunIsTheSameUnlessAskedFor) {
  const auto a = study(packets_run("dot", kTimes, 3, 5000)), b = study(packets_run("dot", kLittleLater, 3, 5000));
  EXPECT_EQ(of(compare(a, b), "ms").verdict, "same");
  EXPECT_EQ(of(compare(a, b, 0), "ms").verdict, "higher");
}

TEST(Compare, TooFewSamplesDecideNothingAndSayHowManyWould) {
  const auto few = std::span(kTimes).first(3);
  const auto it = compare(study(packets_run("dot", few, 3, 5000)), study(packets_run("dot", kRoundTripLess, 3, 5000)));
  EXPECT_EQ(of(it, "ms").verdict, "not decided");
  EXPECT_EQ(of(it, "ms").samples_needed, 7u);
}

TEST(Compare, WithoutAnyAnswerNothingIsDecidedAboutBytes) {
  auto silent = packets_run("dot", kTimes, 3, 5000);
  for (auto& sample : silent.results["dot"].raw) sample.ms.reset(), sample.outcome = "timed out";
  silent.results["dot"].samples = 0;
  silent.results["dot"].no_answer = 9;
  const auto it = compare(study(packets_run("dot", kTimes, 3, 5000)), study(silent));
  EXPECT_EQ(of(it, "ms").verdict, "higher");  // at least the timeout
  EXPECT_FALSE(of(it, "ms").b);
  EXPECT_EQ(of(it, "bytes_s2c").verdict, "not decided");
  EXPECT_EQ(of(it, "no_answer_percent").verdict, "higher");
  EXPECT_EQ(of(it, "no_answer_percent").delta, 100);
}

TEST(Compare, OtherConditionsAreNamedInsteadOfCompared) {
  const auto a = study(packets_run("dot", kTimes, 3, 5000));
  const auto obstacles = [&](auto change) {
    auto b = a;
    change(*b.packets);
    const auto it = compare(a, b);
    EXPECT_EQ(it.experiments.at(0).results.empty(), !it.experiments.at(0).obstacles.empty());
    return it.experiments.at(0).obstacles;
  };
  EXPECT_THAT(obstacles([](auto& run) { run.link.one_way_delay_ms = 30; }), ElementsAre(HasSubstr("one_way_delay_ms is 20 in one and 30")));
  EXPECT_THAT(obstacles([](auto& run) { run.link.loss_percent = 2; }), ElementsAre(HasSubstr("loss_percent")));
  EXPECT_THAT(obstacles([](auto& run) { run.endpoints.timeout_s = 5; }), ElementsAre(HasSubstr("timeout_s")));
  EXPECT_THAT(obstacles([](auto& run) { run.environment.kernel_settings["tcp_ecn"] = "1"; }), ElementsAre(HasSubstr("tcp_ecn")));
  EXPECT_THAT(obstacles([](auto& run) { run.link.seed = 2; }), IsEmpty());  // nothing is drawn on a clean link
  EXPECT_THAT(obstacles([](auto& run) { run.endpoints.chain_bytes = 1200; }), IsEmpty());
}

TEST(Compare, ASeedCountsWhereLossesAreDrawn) {
  auto a = packets_run("dot", kTimes, 3, 5000);
  a.link.loss_percent = 2;
  auto b = a;
  b.link.seed = 2;
  EXPECT_THAT(compare(study(a), study(b)).experiments.at(0).obstacles, ElementsAre(HasSubstr("seed is 1 in one and 2")));
}

TEST(Compare, WhatMayBeComparedIsListedAsChange) {
  const auto a = packets_run("dot", kTimes, 3, 5000);
  auto b = a;
  b.endpoints.chain_bytes = 1200;
  b.environment.openssl = "3.6";
  EXPECT_THAT(compare(study(a), study(b)).experiments.at(0).changes,
              ElementsAre(HasSubstr("OpenSSL"), HasSubstr("chain_bytes is 0 in one and 1200")));
}

TEST(Compare, WhatOnlyOneHasIsNamed) {
  auto a = study(packets_run("dot", kTimes, 3, 5000));
  const auto b = study(packets_run("doq", kTimes, 2, 5000));
  a.loss.emplace();
  const auto it = compare(a, b);
  EXPECT_THAT(it.only_in_a, ElementsAre("loss"));
  EXPECT_THAT(it.experiments.at(0).only_in_a, ElementsAre("dot"));
  EXPECT_THAT(it.experiments.at(0).only_in_b, ElementsAre("doq"));
}

/// Two runs of one distribution: "lower" or "higher" must be rare, for times with a tail and for shares.
TEST(Compare, EqualServersAreSeldomToldApart) {
  constexpr std::uint64_t kSeed = 20260102;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  const auto draw = [&] {
    results::LossRun run;
    run.endpoints.timeout_s = 15;
    auto& summary = run.results["dot"];
    std::bernoulli_distribution lost(0.05), dead(0.02);
    std::normal_distribution<double> noise(0, 0.5);
    for (std::uint64_t i = 0; i < 300; ++i) {
      results::LossSample sample{.transport = "dot", .sample = i};
      if (dead(random)) ++summary.timeouts;
      else sample.ms = 120 + noise(random) + (lost(random) ? 1000 : 0), ++summary.n;
      run.samples.push_back(sample);
    }
    results::Study out;
    out.loss = std::move(run);
    return out;
  };
  int told_apart = 0, asked = 0;
  for (int i = 0; i < 200; ++i) {
    const auto comparison = compare(draw(), draw(), 0);
    for (const auto& it : comparison.experiments.at(0).results.at("dot").differences) {
      if (it.verdict == "not decided") continue;
      ++asked;
      told_apart += it.verdict != "same" ? 1 : 0;
    }
  }
  EXPECT_GT(asked, 1000);
  EXPECT_LT(told_apart, asked * 5 / 100);
}

}  // namespace
}  // namespace doxlab::compare
