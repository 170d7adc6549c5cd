#include "report/advice.hpp"

#include <gmock/gmock.h>

namespace doxlab::report {
namespace {

using testing::HasSubstr;
using testing::Not;

results::AdviceRun run_with(std::vector<results::Advice> advice) {
  results::AdviceRun run;
  run.repetitions_clean = 9;
  run.before["doq"] = {};
  run.advice = std::move(advice);
  return run;
}

results::Advice retry_off() {
  return {.transport = "doq", .finding = "retry_round_trip", .sentence = "A Retry.", .lookups = 9, .of = 9, .change = "Retry off",
          .options = "--retry off", .measured = true, .before = {.round_trips = 3, .ip_bytes = 9486, .ms = 126.0},
          .after = {.round_trips = 2, .ip_bytes = 8379, .ms = 84.0}, .round_trips_saved = 1, .delta_ms = -42.0, .delta_ms_low = -42.5,
          .delta_ms_high = -41.5, .finding_gone = true, .verdict = "round_trips"};
}

TEST(AdviceText, SaysWhatAChangeGains) {
  const auto text = advice_text(run_with({retry_off()})).to_text();
  EXPECT_THAT(text, HasSubstr("--retry off (Retry off): gains one round trip, with 1107 bytes fewer."));
  EXPECT_THAT(text, HasSubstr("-42.0 [-42.5, -41.5]"));
  EXPECT_THAT(text, Not(HasSubstr("nothing")));
}

TEST(AdviceText, SaysThatAChangeGainsNothing) {
  auto advice = retry_off();
  advice.after.round_trips = 3;
  advice.round_trips_saved = 0;
  advice.verdict = "nothing";
  advice.new_findings = {"amplification_stall"};
  const auto text = advice_text(run_with({advice})).to_text();
  EXPECT_THAT(text, HasSubstr("gains nothing that was measured: as many round trips"));
  EXPECT_THAT(text, HasSubstr("in its place there is amplification_stall."));
}

TEST(AdviceText, SaysThatThereIsNothingToChange) {
  EXPECT_THAT(advice_text(run_with({})).to_text(), HasSubstr("There is nothing to change"));
  auto interrupted = run_with({});
  interrupted.complete = false;
  EXPECT_THAT(advice_text(interrupted).to_text(), Not(HasSubstr("nothing to change")));
}

TEST(AdviceText, SaysWhyAChangeWasNotMeasured) {
  auto advice = retry_off();
  advice.measured = false;
  advice.reason = "a chain of 200 bytes cannot be";
  const auto text = advice_text(run_with({advice})).to_text();
  EXPECT_THAT(text, HasSubstr("--retry off: not measured: a chain of 200 bytes cannot be"));
  EXPECT_THAT(text, Not(HasSubstr("as it is")));
}

}  // namespace
}  // namespace doxlab::report
