// A machine that has no time for what is measured: the run says so, rather than printing what it saw.

#include <gmock/gmock.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <thread>

#include "net/scheduling.hpp"
#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

constexpr double kRoundTripMs = 40;
constexpr std::uint64_t kSamples = 25;

/// On each core a thread above everything else, which is busy and rests in turn, all of them at the same times: what
/// takes one core alone disturbs nobody. They end with this object, and by themselves after half a minute.
class Hogs {
 public:
  Hogs(Duration busy, Duration rest) : busy_(busy), rest_(rest) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    ::sched_getaffinity(0, sizeof allowed, &allowed);
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &allowed))
        threads_.emplace_back([this, core](std::stop_token stop) { hog(core, stop); });
    while (started_ < threads_.size()) std::this_thread::yield();
  }

  bool have_real_time_priority() const { return real_time_ == threads_.size(); }

 private:
  void hog(int core, std::stop_token stop) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core, &only);
    ::pthread_setaffinity_np(::pthread_self(), sizeof only, &only);
    real_time_ += net::take_real_time_priority(::sched_get_priority_max(SCHED_FIFO));
    ++started_;
    for (auto next = began_; !stop.stop_requested() && next < began_ + 30s; next += busy_ + rest_) {
      std::this_thread::sleep_for(next - monotonic_now());
      while (monotonic_now() < next + busy_) continue;
    }
  }

  Duration busy_, rest_;
  Timestamp began_ = monotonic_now();
  std::atomic<std::size_t> started_ = 0, real_time_ = 0;
  std::vector<std::jthread> threads_;  // last: they use what is above
};

struct Measured {
  test::Finished finished;
  test::Json run;
  bool overloaded = false;  // real-time priority was granted
  double disturbed = 0, used = 0;
};

/// A run on a clean link beside the hogs, with what must hold of every run, disturbed or not.
Measured measure_beside_hogs(Duration busy, Duration rest) {
  const test::TemporaryFolder folder;
  Measured out;
  {
    const Hogs hogs(busy, rest);
    out.overloaded = hogs.have_real_time_priority();
    out.finished = test::run_program(
        test::doxlab({"loss", "--loss", "0", "--only", "do53,dot", "-n", std::to_string(kSamples),
                      "--timeout", "5", "--json", folder.file("out.json")}),
        120s);
  }
  // 1: a transport of which nothing is left.
  EXPECT_THAT(out.finished.status, testing::AnyOf(0, 1)) << out.finished;
  out.run = test::parse_json(folder.read("out.json"));
  // Nothing is lost from sight: what was left out is counted.
  for (const auto& [transport, summary] : out.run["results"].get_object()) {
    const double used = test::number(summary, "n") + test::number(summary, "timeouts");
    EXPECT_EQ(used + test::number(summary, "disturbed"), kSamples) << transport;
    out.disturbed += test::number(summary, "disturbed");
    out.used += used;
  }
  double marked = 0, most = 0;
  for (const auto& sample : out.run["samples"].get_array()) {
    if (sample["disturbed"].get<bool>()) {
      ++marked;
      continue;
    }
    // What was believed is right: later than the link alone by no more than the sampler tolerates at each
    // packet (1 ms on the link, 4 ms at its receiver, two packets a round trip) and some computing.
    const double trips = test::text(sample, "transport") == "do53" ? 1 : 3;
    const double beyond = test::number(sample, "ms") - trips * kRoundTripMs;
    EXPECT_GE(beyond, 0);
    EXPECT_LE(beyond, trips * 2 * (1 + 4) + 10)
        << test::text(sample, "transport") << ", sample " << test::number(sample, "sample");
    most = std::max(most, beyond);
  }
  EXPECT_EQ(marked, out.disturbed);
  std::cout << "[ disturbed] " << marked << " of " << 2 * kSamples << " left out, "
            << test::number(out.run, "repeated") << " lookups repeated, the others up to " << most
            << " ms late; link p99 " << test::number(out.run["precision"], "p99_us") << " us\n";
  return out;
}

TEST(DisturbedRun, SaysSoAndLeavesOutWhatItCouldNotMeasure) {
  // Two thirds of the time of all cores are taken, in pieces longer than any tolerance.
  const auto measured = measure_beside_hogs(8ms, 4ms);
  if (!measured.overloaded)
    GTEST_SKIP() << "this kernel grants no real-time priority, so nothing is overloaded for sure";
  EXPECT_GT(measured.disturbed, 0) << measured.finished;
  EXPECT_GT(test::number(measured.run, "repeated"), measured.disturbed);
  EXPECT_THAT(measured.finished.output, testing::HasSubstr("WARNING: this machine was too busy"));
  EXPECT_THAT(measured.finished.output, testing::ContainsRegex("  (Do53|DoT): [0-9]+ of 25\n"));
}

TEST(DisturbedRun, NowAndThenMeansRepeatingAndRightFigures) {
  // Most lookups meet no piece, or none in one of their attempts.
  const auto measured = measure_beside_hogs(8ms, 300ms);
  if (!measured.overloaded)
    GTEST_SKIP() << "this kernel grants no real-time priority, so nothing is overloaded for sure";
  EXPECT_GT(test::number(measured.run, "repeated"), 0) << measured.finished;
  EXPECT_GT(measured.used, 0) << measured.finished;
}

}  // namespace
}  // namespace doxlab
