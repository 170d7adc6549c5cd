#include "base/late_times.hpp"

#include <gtest/gtest.h>

namespace doxlab {
namespace {

constexpr Timestamp at(Duration since_start) { return Timestamp{} + 1h + since_start; }

TEST(LateTimes, TellsTheStallThatAMomentFellInto) {
  LateTimes late;
  late.add(at(10ms), at(110ms));
  EXPECT_EQ(late.greatest(at(50ms), at(50ms)), 100ms);
  EXPECT_EQ(late.greatest(at(109ms), at(111ms)), 100ms) << "what is read at its end waited in it";
  EXPECT_EQ(late.greatest(at(0ms), at(9ms)), 0ms);
  EXPECT_EQ(late.greatest(at(111ms), at(200ms)), 0ms);
}

TEST(LateTimes, KeepsTheGreatestAndForgetsTheOld) {
  LateTimes late;
  late.add(at(0ms), at(3ms));
  late.add(at(1ms), at(9ms));
  EXPECT_EQ(late.greatest(at(2ms), at(2ms)), 8ms);
  late.add(at(30s), at(30s + 2ms));
  EXPECT_EQ(late.greatest(at(2ms), at(2ms)), 0ms);
}

TEST(LateTimes, PassesOverWhatAnyTimerIsLate) {
  LateTimes late;
  late.add(at(0ms), at(500us));
  EXPECT_EQ(late.greatest(at(0ms), at(1ms)), 0ms);
}

}  // namespace
}  // namespace doxlab
