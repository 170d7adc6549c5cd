#include "report/packets.hpp"

#include <gtest/gtest.h>

namespace doxlab::report {
namespace {

results::PacketsRun run_with(const results::PacketsSummary& summary) {
  results::PacketsRun run;
  run.endpoints.certificate_verified = true;
  run.precision.within_1_ms = true;
  run.results["dot"] = summary;
  return run;
}

TEST(PacketsText, PrintsOnlyWhatWasMeasured) {
  const auto text = packets_text(run_with({.transport = "DoT",
                                           .samples = 9,
                                           .ms = 121.04,
                                           .ms_min = 120.5,
                                           .ms_max = 122.46,
                                           .round_trips = 3,
                                           .round_trips_min = 3,
                                           .round_trips_max = 3,
                                           .compute_ms = 1.02})).to_text();
  EXPECT_NE(text.find("121.0 (120.5–122.5)"), std::string::npos) << text;
  EXPECT_EQ(text.find("DoQ"), text.find("DoQ\n")) << "only the sentence on Retry names DoQ: " << text;
  EXPECT_EQ(text.find("WARNING"), std::string::npos) << text;
}

TEST(PacketsText, RoundTripsThatVaryShowTheirRange) {
  const auto text = packets_text(
      run_with({.transport = "DoT", .samples = 9, .round_trips = 3, .round_trips_min = 3, .round_trips_max = 5})).to_text();
  EXPECT_NE(text.find("3 (3–5)"), std::string::npos) << text;
}

TEST(PacketsText, SaysWhatWentWrong) {
  auto run = run_with({.transport = "DoT", .samples = 0, .no_answer = 2});
  run.results["dot"].raw = {{.outcome = "timed out", .reason = "no answer came"}, {.outcome = "timed out", .reason = "no answer came"}};
  run.precision.within_1_ms = false;
  run.complete = false;
  run.endpoints.certificate_verified = false;
  const auto text = packets_text(run).to_text();
  EXPECT_NE(text.find("DoT: 2 of 2 without an answer, timed out: no answer came"), std::string::npos) << text;
  EXPECT_NE(text.find("not to be trusted"), std::string::npos);
  EXPECT_NE(text.find("INTERRUPTED"), std::string::npos);
  EXPECT_NE(text.find("not verified"), std::string::npos);
}

TEST(PacketsText, AnswersWithoutWhatWasAskedAreNoted) {
  auto run = run_with({.transport = "DoT", .samples = 3});
  run.results["dot"].raw = {{.outcome = "answered", .rcode = "REFUSED"},
                            {.outcome = "answered", .rcode = "NOERROR", .truncated = true},
                            {.outcome = "answered", .rcode = "NOERROR"}};
  const auto text = packets_text(run).to_text();
  EXPECT_NE(text.find("NOTE: DoT: 1 of 3 answers have the RCODE REFUSED"), std::string::npos) << text;
  EXPECT_NE(text.find("NOTE: DoT: 1 of 3 answers are truncated (TC)"), std::string::npos) << text;
}

}  // namespace
}  // namespace doxlab::report
