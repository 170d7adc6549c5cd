#include "quic/pacer.hpp"

#include <gtest/gtest.h>

namespace doxlab::quic::internal {
namespace {

constexpr std::uint64_t kRtt = 40'000'000;  // ns
constexpr std::uint64_t kWindow = 12'320;   // ten datagrams of 1232 bytes

TEST(Pacer, AnInitialWindowIsNeverDelayed) {
  Pacer pacer(1232);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(pacer.blocked_until(1000, kWindow, kRtt)) << "datagram " << i;
    pacer.sent(1232);
  }
}

TEST(Pacer, BulkDataIsSpreadOverTheRoundTrip) {
  Pacer pacer(1232);
  std::uint64_t now = 0;
  const int datagrams = 110;
  for (int i = 0; i < datagrams; ++i) {
    while (const auto until = pacer.blocked_until(now, kWindow, kRtt)) {
      ASSERT_GT(*until, now);
      now = *until;
    }
    pacer.sent(1232);
  }
  // A hundred datagrams beyond the burst at 1.25 windows of ten a round trip: eight round trips.
  EXPECT_NEAR(static_cast<double>(now), 8.0 * kRtt, 0.2 * kRtt);
}

TEST(Pacer, QuietTimeGivesTheBurstBackButNoMore) {
  Pacer pacer(1232);
  for (int i = 0; i < 11; ++i) pacer.sent(1232);
  EXPECT_TRUE(pacer.blocked_until(1, kWindow, kRtt));
  const std::uint64_t later = 1'000 * kRtt;
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(pacer.blocked_until(later, kWindow, kRtt));
    pacer.sent(1232);
  }
  pacer.sent(1);
  EXPECT_TRUE(pacer.blocked_until(later, kWindow, kRtt));
}

}  // namespace
}  // namespace doxlab::quic::internal
