// Affected, not affected, not decided: by hand-made figures.
#include "experiment/repro_verdict.hpp"

#include <gmock/gmock.h>

#include "stats/proportion.hpp"

namespace doxlab::experiment {
namespace {

using testing::HasSubstr;
using testing::Not;

results::ReproCell cell(std::uint64_t failed, std::uint64_t handshakes, std::uint64_t with_fault = 0) {
  results::ReproCell out{.chain_bytes = 3900, .loss_percent = 8, .post_quantum = true, .handshakes = handshakes, .failed = failed,
                         .with_fault = with_fault, .published_failed = 30, .published_handshakes = 200};
  const auto interval = stats::clopper_pearson(failed, handshakes);
  out.failed_low = interval.low;
  out.failed_high = interval.high;
  return out;
}

results::ReproRun run_of(std::vector<results::ReproCell> cells, results::ScriptedLoss chosen = {.attempts = 5}) {
  results::ReproRun out;
  out.cells = std::move(cells);
  if (chosen.attempts > 0) out.scripted.push_back(chosen);
  decide(out);
  return out;
}

TEST(Verdict, NoFailureAndEveryChosenLossMadeGoodIsNotAffected) {
  const auto run = run_of({cell(0, 100)});
  EXPECT_EQ(run.verdict, "not affected");
  EXPECT_THAT(run.reason, HasSubstr("in 5 of 5 handshakes"));
  EXPECT_FALSE(run.handshakes_needed);
}

TEST(Verdict, FaultByChanceOrByChoiceIsAffected) {
  EXPECT_EQ(run_of({cell(1, 100, 1)}).verdict, "affected");
  const auto run = run_of({cell(0, 100)}, {.attempts = 5, .failed = 1, .with_fault = 1});
  EXPECT_EQ(run.verdict, "affected");
  EXPECT_THAT(run.reason, HasSubstr("in 1 of 5 handshakes with chosen losses and in 0 of 100 with random ones"));
  EXPECT_THAT(run.reason, Not(HasSubstr("wider")));
}

TEST(Verdict, FaultIsThereInARunThatWasInterrupted) {
  results::ReproRun run;
  run.complete = false;
  run.scripted.push_back({.attempts = 5, .failed = 5, .with_fault = 5});
  decide(run);
  EXPECT_EQ(run.verdict, "affected");
}

TEST(Verdict, ControlsThatFailAreSaid) {
  auto classical = cell(4, 100, 4);
  classical.post_quantum = false;
  auto small_chain = cell(3, 100, 3);
  small_chain.chain_bytes = 1200;
  EXPECT_THAT(run_of({cell(9, 100, 9), classical, small_chain}).reason,
              HasSubstr("4 of them with the classical group and 3 with the small chain"));
}

TEST(Verdict, TooFewHandshakesSayHowManyAreNeeded) {
  const auto run = run_of({cell(0, 20)});
  EXPECT_EQ(run.verdict, "not decided");
  ASSERT_TRUE(run.handshakes_needed);
  // One less would not do.
  EXPECT_EQ(run_of({cell(0, *run.handshakes_needed)}).verdict, "not affected");
  EXPECT_EQ(run_of({cell(0, *run.handshakes_needed - 1)}).verdict, "not decided");
}

TEST(Verdict, FailuresWithAnotherReasonNeedMore) {
  const auto run = run_of({cell(2, 40)});
  EXPECT_EQ(run.verdict, "not decided");
  ASSERT_TRUE(run.handshakes_needed);
  EXPECT_GT(*run.handshakes_needed, 40u);
  EXPECT_EQ(run_of({cell(*run.handshakes_needed / 20, *run.handshakes_needed)}).verdict, "not affected");
}

TEST(Verdict, AsManyFailuresAsPublishedAreNeverExcluded) {
  const auto run = run_of({cell(30, 200)});
  EXPECT_EQ(run.verdict, "not decided");
  EXPECT_FALSE(run.handshakes_needed);
  EXPECT_THAT(run.reason, HasSubstr("not by this fault"));
}

TEST(Verdict, CellsWithoutAPublishedRateDoNotMatter) {
  auto unknown = cell(90, 100);
  unknown.published_failed.reset();
  auto little_loss = cell(20, 100);
  little_loss.loss_percent = 2;
  auto control = cell(20, 100);
  control.published_failed = 0;
  EXPECT_EQ(run_of({cell(0, 100), unknown, little_loss, control}).verdict, "not affected");
}

TEST(Verdict, ChosenLossThatIsFatalOtherwiseIsNotDecided) {
  const auto run = run_of({cell(0, 100)}, {.attempts = 5, .failed = 5});
  EXPECT_EQ(run.verdict, "not decided");
  EXPECT_THAT(run.reason, HasSubstr("another fault"));
}

TEST(Verdict, WithoutChosenLossesNothingIsDecided) {
  EXPECT_EQ(run_of({cell(0, 100)}, {.attempts = 0}).verdict, "not decided");
  results::ReproRun interrupted;
  interrupted.complete = false;
  interrupted.scripted.push_back({.attempts = 5});
  decide(interrupted);
  EXPECT_EQ(interrupted.verdict, "not decided");
  EXPECT_THAT(interrupted.reason, HasSubstr("end"));
}

TEST(HandshakesToDecide, AreTheFewestThatExclude) {
  // 1 - 0.025^(1/n) < 0.1 first holds for 36.
  EXPECT_EQ(handshakes_to_decide(0, 0.1), 36u);
  EXPECT_LT(stats::clopper_pearson(0, 36).high, 0.1);
  EXPECT_GE(stats::clopper_pearson(0, 35).high, 0.1);
  EXPECT_EQ(handshakes_to_decide(0.2, 0.1), std::nullopt);
  EXPECT_EQ(handshakes_to_decide(0.1, 0.1), std::nullopt);
}

}  // namespace
}  // namespace doxlab::experiment
