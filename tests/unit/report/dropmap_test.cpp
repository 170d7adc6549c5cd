// The text of a drop map.
#include <gmock/gmock.h>

#include "report/dropmap.hpp"

namespace doxlab::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

results::DropmapRun example() {
  results::DropmapRun run;
  run.action = "drop";
  run.repetitions = 3;
  run.link.one_way_delay_ms = 20;
  run.endpoints.timeout_s = 15;
  auto& dot = run.results["dot"];
  dot.transport = "DoT";
  dot.reference = {.lookups = 9, .ms = 122.5, .ms_min = 122, .ms_max = 123, .round_trips = 3, .pkts_c2s = 9, .pkts_s2c = 8};
  dot.rows.push_back({.packets = {{.direction = "c2s", .index = 0, .carried = "SYN", .ip_bytes = 60, .sent_ms = 0.1}},
                      .lookups = 3,
                      .outcome = "answered",
                      .ms = 1130,
                      .lost_ms = 1007.5,
                      .round_trips = 3,
                      .recovery = "sent again after 1007.0 ms, by a timer"});
  dot.rows.push_back({.packets = {{.direction = "s2c", .index = 7, .carried = "answer", .ip_bytes = 84, .sent_ms = 100}},
                      .lookups = 3,
                      .no_answer = 3,
                      .outcome = "timed out",
                      .reason = "no answer came within 15 s"});
  dot.expected = results::DropmapExpected{.loss_percent = 2,
                                          .by_losses = {0.71, 0.24},
                                          .not_explained = 0.05,
                                          .quantiles = {{0.5, 122.5, 122.5, true}, {0.99, 1149.44, std::nullopt, false}}};
  return run;
}

TEST(DropmapText, SaysWhatEachPacketCosts) {
  const auto text = dropmap_text(example()).to_text();
  EXPECT_THAT(text, HasSubstr("DoT: 122.5 ms (122.0–123.0, 9 lookups), 3 round trips, 9 packets c→s and 8 s→c"));
  EXPECT_THAT(text, HasSubstr("+1007.5"));
  EXPECT_THAT(text, HasSubstr("sent again after 1007.0 ms, by a timer"));
  EXPECT_THAT(text, HasSubstr("no answer"));
  EXPECT_THAT(text, HasSubstr("timed out: no answer came within 15 s"));
  EXPECT_THAT(text, Not(HasSubstr("WARNING")));
}

TEST(DropmapText, QuantilesThatAreNotDecidedAreRanges) {
  const auto text = dropmap_text(example()).to_text();
  EXPECT_THAT(text, AllOf(HasSubstr("71.00%"), HasSubstr("5.00%"), HasSubstr("1149.4 to ≥15 s")));
  EXPECT_THAT(text, Not(HasSubstr("122.5 to")));
}

TEST(DropmapText, SaysWhatElseHappenedToPackets) {
  auto run = example();
  run.action = "delay";
  run.extra_delay_ms = 30;
  EXPECT_THAT(dropmap_text(run).to_text(), HasSubstr("delayed by 30 ms in turn"));
  run.action = "flip";
  EXPECT_THAT(dropmap_text(run).to_text(), HasSubstr("one bit of it flipped"));
}

TEST(DropmapText, WarnsOfWhatIsMissing) {
  auto run = example();
  run.complete = false;
  run.precision.within_1_ms = false;
  run.results["dot"].rows[0].disturbed = 2;
  EXPECT_THAT(dropmap_text(run).to_text(), AllOf(HasSubstr("INTERRUPTED"), HasSubstr("1 ms late"), HasSubstr("2 lookups were disturbed")));
}

TEST(DropmapText, TransportWithoutReferenceHasNoMap) {
  auto run = example();
  run.results["dot"] = {.transport = "DoT"};
  EXPECT_THAT(dropmap_text(run).to_text(), HasSubstr("so there is no map"));
}

}  // namespace
}  // namespace doxlab::report
