#include <gtest/gtest.h>

#include <atomic>
#include <iostream>

#include "lab_sockets.hpp"

namespace doxlab::lab {
namespace {

/// One datagram each way every millisecond for half a second, beside two threads on each side that never
/// rest.
LinkPrecision precision_on_a_busy_machine() {
  Lab lab({.impairments = {.one_way_delay = 5ms}, .sysctls = {}});
  test::UdpEcho echo(lab, false);
  std::vector<std::jthread> busy;
  for (const auto side : {Side::Client, Side::Server, Side::Client, Side::Server})
    busy.push_back(lab.start_thread(side, [](std::stop_token stop) {
      std::atomic<std::uint64_t> work = 0;
      while (!stop.stop_requested()) ++work;
    }));
  test::UdpClient client(lab, false, {.lookup = 1});
  for (int i = 0; i < 500; ++i) {
    const auto next = monotonic_now() + 1ms;
    client.send("x");
    while (monotonic_now() < next) client.receive(1ms);
  }
  return lab.precision();
}

// Other work on the machine can spoil an attempt, but not make a bad link good: the best of several counts.
TEST(LinkPrecision, StaysFarBelowAMillisecondOnABusyMachine) {
  Duration best = 1h;
  for (int attempt = 0; attempt < 6 && best >= 200us; ++attempt) {
    const auto precision = precision_on_a_busy_machine();
    std::cout << "[ precision] " << precision.packets << " packets, p50 " << precision.p50.count() / 1000
              << " us, p99 " << precision.p99.count() / 1000 << " us, max " << precision.max.count() / 1000
              << " us, real-time priority " << (precision.real_time_priority ? "yes" : "no") << '\n';
    EXPECT_GT(precision.packets, 900);
    if (!precision.real_time_priority) GTEST_SKIP() << "this kernel grants no real-time priority";
    best = std::min(best, precision.p50);  // the tail is the machine's, the median is ours
  }
  EXPECT_LT(best, 1ms);
}

}  // namespace
}  // namespace doxlab::lab
