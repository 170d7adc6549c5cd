#include "experiment/machine_checks.hpp"

#include <gmock/gmock.h>

namespace doxlab::experiment {
namespace {

using testing::HasSubstr;

TEST(JudgedClock, FineOneIsOk) {
  const auto check = judge_clock({.source = "tsc", .resolution = 1ns, .step = 20ns, .reading = 25ns});
  EXPECT_EQ(check.status, "ok");
  EXPECT_THAT(check.found, HasSubstr("tsc"));
  EXPECT_EQ(check.why + check.action, "");
}

TEST(JudgedClock, OfOneTickAMillisecondFails) {
  for (const auto& clock : {ClockFigures{.source = "jiffies", .resolution = 4ms, .step = 4ms, .reading = 30ns},
                            ClockFigures{.source = "jiffies", .resolution = 1ns, .step = 1ms, .reading = 30ns}}) {
    const auto check = judge_clock(clock);
    EXPECT_EQ(check.status, "failed");
    EXPECT_THAT(check.found, HasSubstr("steps of"));
    EXPECT_THAT(check.action, HasSubstr("CONFIG_HIGH_RES_TIMERS"));
  }
}

TEST(JudgedClock, ThatGoesBackFails) {
  const auto check = judge_clock({.source = "tsc", .resolution = 1ns, .step = 20ns, .reading = 25ns, .goes_back = true});
  EXPECT_EQ(check.status, "failed");
  EXPECT_THAT(check.found, HasSubstr("went back"));
}

TEST(JudgedClock, ThatIsExpensiveToReadIsAWarning) {
  const auto check = judge_clock({.source = "acpi_pm", .resolution = 1ns, .step = 300ns, .reading = 4us});
  EXPECT_EQ(check.status, "warning");
  EXPECT_THAT(check.action, HasSubstr("current_clocksource"));
}

TEST(MeasuredClock, HasFiguresThatCanBe) {
  const auto clock = measure_clock();
  EXPECT_FALSE(clock.goes_back);
  EXPECT_GT(clock.reading, 0ns);
  EXPECT_GT(clock.step, 0ns);
  EXPECT_LT(clock.step, 1s);
}

TEST(JudgedTimers, LateByMoreThanAMillisecondIsAWarningWithTheFigure) {
  EXPECT_EQ(judge_timers({.p50 = 50us, .p99 = 1ms, .max = 9ms}).status, "ok");
  const auto check = judge_timers({.p50 = 50us, .p99 = 1500us, .max = 9ms});
  EXPECT_EQ(check.status, "warning");
  EXPECT_THAT(check.found, HasSubstr("p99 1500 us"));
}

TEST(MeasuredTimers, AreInOrder) {
  const auto timers = measure_timers();
  EXPECT_LE(timers.p50, timers.p99);
  EXPECT_LE(timers.p99, timers.max);
  EXPECT_GE(timers.p50, 0ns);
}

TEST(JudgedProcessors, PressureCountsWhereTheKernelTellsElseTheLoad) {
  EXPECT_EQ(judge_processors({.count = 4, .load = 9, .pressure = 2}).status, "ok");
  EXPECT_EQ(judge_processors({.count = 4, .load = 0.1, .pressure = 60}).status, "warning");
  EXPECT_EQ(judge_processors({.count = 4, .load = 5, .pressure = {}}).status, "warning");
  EXPECT_EQ(judge_processors({.count = 4, .load = 3, .pressure = {}}).status, "ok");
  const auto one = judge_processors({.count = 1, .load = 0, .pressure = 0});
  EXPECT_EQ(one.status, "warning");
  EXPECT_THAT(one.found, HasSubstr("1 processor,"));
}

TEST(JudgedReceiveBuffer, BelowWhatLinuxGrantsIsAWarning) {
  EXPECT_EQ(judge_receive_buffer(425984).status, "ok");
  const auto check = judge_receive_buffer(65536);
  EXPECT_EQ(check.status, "warning");
  EXPECT_THAT(check.found, HasSubstr("64 KiB"));
  EXPECT_THAT(check.action, HasSubstr("net.core.rmem_max"));
}

TEST(JudgedKernelSettings, ThoseOfTheLabMustBeInForce) {
  const auto check = judge_kernel_settings({{"tcp_no_metrics_save", "0"}, {"tcp_congestion_control", "reno"}}, {});
  EXPECT_EQ(check.status, "warning");
  EXPECT_THAT(check.found, HasSubstr("tcp_no_metrics_save is 0 and not 1"));
  EXPECT_THAT(check.found, HasSubstr("tcp_congestion_control is reno and not cubic"));
}

TEST(JudgedKernelSettings, WhatTheRunAsksForAndWhatTheKernelLacksIsFine) {
  EXPECT_EQ(judge_kernel_settings({{"tcp_congestion_control", "bbr"}}, {{"tcp_congestion_control", "bbr"}}).status, "ok");
  EXPECT_EQ(judge_kernel_settings({{"tcp_congestion_control", "cubic (set on the routes)"}}, {}).status, "ok");
}

TEST(JudgedKernelSettings, UnusualOnesOfTheMachineAreNamed) {
  const auto check = judge_kernel_settings({{"tcp_sack", "0"}}, {});
  EXPECT_EQ(check.status, "warning");
  EXPECT_THAT(check.found, HasSubstr("tcp_sack is 0 and not 1"));
}

TEST(JudgedPrivileges, OrdinaryUserInANamespaceIsOkAndWithoutOneFails) {
  EXPECT_EQ(check_privileges(false, "").status, "ok");
  const auto check = check_privileges(false, "make a user namespace: Operation not permitted; run as root");
  EXPECT_EQ(check.status, "failed");
  EXPECT_THAT(check.action, HasSubstr("root"));
}

}  // namespace
}  // namespace doxlab::experiment
