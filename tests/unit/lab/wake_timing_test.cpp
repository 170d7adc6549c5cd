#include "lab/wake_timing.hpp"

#include <gtest/gtest.h>

namespace doxlab::lab {
namespace {

const Timestamp kStart = from_ns(1'000'000'000);

TEST(WakeTiming, LeadFollowsTheQuickWakings) {
  WakeTiming timing;
  // Three of four wakings take 60 us, one takes 40 us: the first quartile lies between.
  for (int i = 0; i < 4000; ++i) timing.woke(kStart, kStart + (i % 4 == 0 ? 40us : 60us));
  EXPECT_GE(timing.lead(), 39us);
  EXPECT_LE(timing.lead(), 61us);
  EXPECT_EQ(timing.alarm_for(kStart + 1ms, kStart), kStart + 1ms - timing.lead());
}

TEST(WakeTiming, LeadStaysBoundedWhateverIsSeen) {
  WakeTiming timing;
  for (int i = 0; i < 4000; ++i) timing.woke(kStart, kStart + 10s);
  EXPECT_EQ(timing.lead(), 100us);
  for (int i = 0; i < 4000; ++i) timing.woke(kStart, kStart - 1s);
  EXPECT_EQ(timing.lead(), 0us);
}

TEST(WakeTiming, AlarmIsNeverInThePast) {
  const WakeTiming timing;
  EXPECT_EQ(timing.alarm_for(kStart + 1us, kStart), kStart + 1us);
}

TEST(WakeTiming, SpinningTakesAtMostATenthOfTheTime) {
  WakeTiming timing;
  Duration spun{};
  auto now = kStart;
  for (; now < kStart + 1s; now += 20us)
    if (timing.may_spin(now, now + 10us)) spun += 10us;
  EXPECT_LE(spun, 100ms + 2ms);
  EXPECT_GE(spun, 90ms);
}

TEST(WakeTiming, NobodySpinsForLongerThanTheLead) {
  WakeTiming timing;
  EXPECT_FALSE(timing.may_spin(kStart, kStart + timing.lead() + 1us));
}

}  // namespace
}  // namespace doxlab::lab
