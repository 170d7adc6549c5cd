#include "report/sweep.hpp"

#include <gmock/gmock.h>

namespace doxlab::report {
namespace {

using testing::HasSubstr;
using testing::Not;

results::QuantileEstimate known(double p, double ms, double low, std::optional<double> high) {
  return {.p = p, .ms = ms, .samples_needed = 6, .low_ms = low, .high_ms = high};
}

results::SweepRun sweep() {
  results::SweepRun out;
  out.header.grid = {{"group", {"X25519", "P-256,P-384"}}, {"loss", {"2"}}};
  out.header.repetitions = 100;
  out.header.options = {{"delay", "20"}, {"seed", "7"}, {"burst", ""}};
  out.cells = out.cells_finished = 2;
  results::SweepRow row{.cell = 0,
                        .point = {"X25519", "2"},
                        .name = "doq",
                        .round_trips = 2,
                        .pkts_c2s = 5,
                        .pkts_s2c = 6,
                        .bytes_c2s = 700,
                        .bytes_s2c = 800,
                        .bytes_total = 1500,
                        .timeout_s = 15};
  row.latency.transport = "DoQ";
  row.latency.n = 97;
  row.latency.timeouts = 3;
  row.latency.no_answer_share = 0.03;
  row.latency.quantiles = {known(0.5, 83.2, 82.9, 84),
                           known(0.95, 500, 90.5, std::nullopt),
                           {.p = 0.99, .supported = false, .samples_needed = 299}};
  out.rows.push_back(row);
  row.cell = 1;
  row.point[0] = "P-256,P-384";
  row.round_trips.reset();
  row.bytes_total.reset();
  row.latency.quantiles[1] = {.p = 0.95, .censored = true, .low_ms = 600};
  out.rows.push_back(row);
  return out;
}

TEST(SweepText, HasOneRowACellAndTransport) {
  const auto text = sweep_text(sweep()).to_text();
  EXPECT_THAT(
      text,
      HasSubstr(
          "group X25519, P-256,P-384 × loss 2: 100 cold lookups for each transport in each of 2 cells\n"));
  EXPECT_THAT(text, HasSubstr("In all cells: delay 20, seed 7\n"));
  EXPECT_THAT(text,
              testing::ContainsRegex(
                  " +X25519 +2 +DoQ +100 +3 +2 +83.2 .82.9, 84.0. +500.0 .90.5, ≥15 s. +n < 299 +1500\n"));
  EXPECT_THAT(text,
              testing::ContainsRegex(
                  "P-256,P-384 +2 +DoQ +100 +3 +- +83.2 .82.9, 84.0. +≥15 s .600.0, ≥15 s. +n < 299 +-\n"));
  EXPECT_THAT(text, Not(HasSubstr("WARNING")));
  EXPECT_THAT(text, Not(HasSubstr("INCOMPLETE")));
}

TEST(SweepText, NamesTheCellsThatNeedCare) {
  auto run = sweep();
  run.rows[1].latency.disturbed = 4;
  run.rows[0].link_within_1_ms = false;
  run.cells = 5;
  run.header.shard = results::Shard{2, 3};
  const auto text = sweep_text(run).to_text();
  EXPECT_THAT(text, HasSubstr("(shard 2/3)"));
  EXPECT_THAT(text, HasSubstr("too busy; 4 lookups that were disturbed in every attempt are left out, in\n  "
                              "group=P-256,P-384 loss=2\n"));
  EXPECT_THAT(text, HasSubstr("not to be trusted in\n  group=X25519 loss=2\n"));
  EXPECT_THAT(text, HasSubstr("INCOMPLETE: 2 of 5 cells are here\n"));
}

TEST(SweepText, NothingYetIsATableWithoutRows) {
  auto run = sweep();
  run.rows.clear();
  run.cells_finished = 0;
  EXPECT_THAT(sweep_text(run).to_text(), HasSubstr("0 of 2 cells"));
}

TEST(SweepCsv, QuotesAndTellsUnknownFromInfinite) {
  EXPECT_EQ(sweep_csv(sweep()),
            "group,loss,transport,n,no_answer,no_answer_share,no_answer_low,no_answer_high,disturbed,round_"
            "trips,pkts_c2s,pkts_s2c,"
            "bytes_c2s,bytes_s2c,bytes_total,p50_ms,p50_low_ms,p50_high_ms,p95_ms,p95_low_ms,p95_high_ms,p99_"
            "ms,p99_low_ms,p99_high_ms\n"
            "X25519,2,doq,100,3,0.03,0,0,0,2,5,6,700,800,1500,83.2,82.9,84,500,90.5,inf,,,\n"
            "\"P-256,P-384\",2,doq,100,3,0.03,0,0,0,,5,6,700,800,,83.2,82.9,84,inf,600,inf,,,\n");
}

}  // namespace
}  // namespace doxlab::report
