#include "link/path.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace doxlab::link {
namespace {

constexpr std::size_t kIpHeader = 20;
const Timestamp kStart = from_ns(1'000'000'000);

Fate fate_at(Path& path, const PacketPlace& place) {
  return path.accept(place, 100, kIpHeader, kStart).fate;
}

double loss_ratio(const Impairments& impairments, std::uint64_t samples, std::uint64_t packets) {
  Path path(impairments);
  std::uint64_t lost = 0;
  for (std::uint64_t sample = 0; sample < samples; ++sample)
    for (std::uint64_t index = 0; index < packets; ++index)
      lost += fate_at(path, {sample, Direction::ToClient, index}) == Fate::Lost;
  return static_cast<double>(lost) / static_cast<double>(samples * packets);
}

TEST(Path, CleanPathDelaysEveryPacketEqually) {
  Path path({.one_way_delay = 15ms});
  for (std::uint64_t index = 0; index < 100; ++index) {
    const auto verdict = path.accept({7, Direction::ToServer, index}, 1500, kIpHeader, kStart);
    EXPECT_EQ(verdict.fate, Fate::Delivered);
    EXPECT_EQ(verdict.due, kStart + 15ms);
    EXPECT_FALSE(verdict.duplicated);
    EXPECT_FALSE(verdict.flipped_bit);
  }
}

TEST(Path, BernoulliLossRatioConverges) {
  // 200,000 packets: standard deviation 0.0003.
  EXPECT_NEAR(loss_ratio({.seed = 5, .loss_probability = 0.02}, 20000, 10), 0.02, 0.0015);
  EXPECT_EQ(loss_ratio({.loss_probability = 0}, 100, 10), 0);
  EXPECT_EQ(loss_ratio({.loss_probability = 1}, 100, 10), 1);
}

TEST(Path, GilbertElliottLosesItsStationaryShareEvenInShortSamples) {
  const GilbertElliott burst{.p = 0.02, .r = 0.3};
  const double expected = burst.p / (burst.p + burst.r);
  EXPECT_NEAR(loss_ratio({.seed = 3, .burst = burst}, 100000, 2), expected, 0.004);
  EXPECT_NEAR(loss_ratio({.seed = 3, .burst = burst}, 100, 2000), expected, 0.004);
}

TEST(Path, GilbertElliottBurstsHaveTheirMeanLength) {
  Path path({.seed = 11, .burst = GilbertElliott{.p = 0.01, .r = 0.25}});
  std::uint64_t bursts = 0, lost = 0;
  bool in_burst = false;
  for (std::uint64_t index = 0; index < 200000; ++index) {
    const bool is_lost = fate_at(path, {1, Direction::ToServer, index}) == Fate::Lost;
    lost += is_lost;
    bursts += is_lost && !in_burst;
    in_burst = is_lost;
  }
  // Geometric with mean 1/r = 4; about 7,700 bursts give a standard error of 0.04.
  EXPECT_NEAR(static_cast<double>(lost) / static_cast<double>(bursts), 4.0, 0.2);
}

// The walk back from a packet must give what a walk forward from the first packet gives.
TEST(Path, GilbertElliottAlternatesWhenBothTransitionsAreCertain) {
  Path path({.seed = 1, .burst = GilbertElliott{.p = 1, .r = 1}});
  for (std::uint64_t sample = 0; sample < 50; ++sample) {
    const bool first = fate_at(path, {sample, Direction::ToServer, 0}) == Fate::Lost;
    for (std::uint64_t index = 1; index < 20; ++index)
      EXPECT_EQ(fate_at(path, {sample, Direction::ToServer, index}) == Fate::Lost, first != (index % 2 == 1));
  }
}

TEST(Path, GilbertElliottThatNeverMovesStaysGood) {
  EXPECT_EQ(loss_ratio({.burst = GilbertElliott{.p = 0, .r = 0}}, 20, 20), 0);
  EXPECT_EQ(loss_ratio({.burst = GilbertElliott{.p = 0, .r = 1}}, 20, 20), 0);
}

TEST(Path, SamePlaceMeetsTheSameFateWhateverRanBefore) {
  const Impairments impairments{
      .seed = 77,
      .burst = GilbertElliott{.p = 0.1, .r = 0.3, .one_minus_h = 0.8, .one_minus_k = 0.05},
      .duplicate_probability = 0.2,
      .corrupt_probability = 0.2,
      .reorder_probability = 0.2};
  std::vector<PacketPlace> places;
  for (std::uint64_t sample = 0; sample < 100; ++sample)
    for (auto direction : {Direction::ToServer, Direction::ToClient})
      for (std::uint64_t index = 0; index < 10; ++index) places.push_back({sample, direction, index});

  using Outcome = std::tuple<Fate, Duration, bool, std::optional<std::size_t>>;
  const auto run = [&] {
    Path path(impairments);
    std::map<PacketPlace, Outcome> outcomes;
    for (const auto& place : places) {
      const auto verdict = path.accept(place, 400, kIpHeader, kStart);
      outcomes[place] = {verdict.fate, verdict.due - kStart, verdict.duplicated, verdict.flipped_bit};
    }
    return outcomes;
  };
  const auto in_order = run();
  constexpr unsigned kShuffleSeed = 4;
  std::ranges::shuffle(places, std::mt19937(kShuffleSeed));
  EXPECT_EQ(run(), in_order);
}

TEST(Path, SeedAndDirectionChangeTheDraws) {
  Path a({.seed = 1, .loss_probability = 0.5}), b({.seed = 2, .loss_probability = 0.5});
  int differ_by_seed = 0, differ_by_direction = 0;
  for (std::uint64_t index = 0; index < 200; ++index) {
    const auto to_server = fate_at(a, {0, Direction::ToServer, index});
    differ_by_seed += to_server != fate_at(b, {0, Direction::ToServer, index});
    differ_by_direction += to_server != fate_at(a, {0, Direction::ToClient, index});
  }
  EXPECT_GT(differ_by_seed, 50);
  EXPECT_GT(differ_by_direction, 50);
}

TEST(Path, BottleneckQueuesPacketsOneAfterAnother) {
  // 1,250 bytes at 10 Mbit/s take 1 ms.
  Path path({.one_way_delay = 10ms, .bottleneck_rate_bps = 10'000'000});
  for (std::uint64_t index = 0; index < 5; ++index) {
    const auto verdict = path.accept({0, Direction::ToClient, index}, 1250, kIpHeader, kStart);
    EXPECT_EQ(verdict.due, kStart + 10ms + 1ms * (static_cast<int>(index) + 1));
  }
  // The other direction has a queue of its own, and an idle bottleneck forgets.
  EXPECT_EQ(path.accept({0, Direction::ToServer, 0}, 1250, kIpHeader, kStart).due, kStart + 11ms);
  EXPECT_EQ(path.accept({0, Direction::ToClient, 5}, 1250, kIpHeader, kStart + 1s).due, kStart + 1s + 11ms);
}

TEST(Path, LostPacketsTakeNoTimeInTheBottleneck) {
  const Scripted drop_first{.place = {0, Direction::ToClient, 0}};
  Path path({.one_way_delay = 0ms, .bottleneck_rate_bps = 10'000'000, .script = {drop_first}});
  EXPECT_EQ(path.accept({0, Direction::ToClient, 0}, 1250, kIpHeader, kStart).fate, Fate::Scripted);
  EXPECT_EQ(path.accept({0, Direction::ToClient, 1}, 1250, kIpHeader, kStart).due, kStart + 1ms);
}

TEST(Path, FullQueueRefusesAndDrains) {
  Path path({.bottleneck_rate_bps = 10'000'000, .queue_limit_bytes = 2500});
  const auto fate = [&](std::uint64_t index, Timestamp now) {
    return path.accept({0, Direction::ToClient, index}, 1250, kIpHeader, now).fate;
  };
  EXPECT_EQ(fate(0, kStart), Fate::Delivered);
  EXPECT_EQ(fate(1, kStart), Fate::Delivered);
  EXPECT_EQ(fate(2, kStart), Fate::QueueFull);
  EXPECT_EQ(fate(3, kStart + 1ms), Fate::Delivered);
  EXPECT_EQ(fate(4, kStart + 1ms), Fate::QueueFull);
}

TEST(Path, IdleBottleneckPassesAPacketLargerThanTheQueue) {
  Path path({.bottleneck_rate_bps = 10'000'000, .queue_limit_bytes = 100});
  EXPECT_EQ(path.accept({0, Direction::ToClient, 0}, 1250, kIpHeader, kStart).fate, Fate::Delivered);
}

TEST(Path, ScriptOverridesDraws) {
  const auto at = [](std::uint64_t sample, std::uint64_t index) {
    return PacketPlace{sample, Direction::ToClient, index};
  };
  using Action = Scripted::Action;
  Path path({.one_way_delay = 20ms,
             .loss_probability = 1,
             .script = {{.place = at(17, 3), .action = Action::Delay, .extra_delay = 7ms},
                        {.place = at(17, 4), .action = Action::Duplicate},
                        {.place = at(17, 5), .action = Action::Corrupt},
                        {.place = at(0, 6), .every_sample = true, .action = Action::Drop},
                        {.place = at(17, 7), .action = Action::Delay, .extra_delay = 1ms},
                        {.place = at(17, 7), .action = Action::Duplicate}}});
  const auto accept = [&](const PacketPlace& place) { return path.accept(place, 100, kIpHeader, kStart); };
  EXPECT_EQ(accept(at(17, 2)).fate, Fate::Lost);
  EXPECT_EQ(accept(at(17, 3)).fate, Fate::Delivered);
  EXPECT_EQ(accept(at(17, 3)).due, kStart + 27ms);
  EXPECT_EQ(accept(at(16, 3)).fate, Fate::Lost);
  EXPECT_EQ(accept({17, Direction::ToServer, 3}).fate, Fate::Lost);
  EXPECT_TRUE(accept(at(17, 4)).duplicated);
  EXPECT_TRUE(accept(at(17, 5)).flipped_bit);
  EXPECT_EQ(accept(at(17, 6)).fate, Fate::Scripted);
  EXPECT_EQ(accept(at(99, 6)).fate, Fate::Scripted);
  EXPECT_TRUE(accept(at(17, 7)).duplicated);
  EXPECT_EQ(accept(at(17, 7)).due, kStart + 21ms);
}

TEST(Path, CorruptionStaysBeyondTheIpHeader) {
  Path path({.corrupt_probability = 1});
  std::size_t smallest = 1000, largest = 0;
  for (std::uint64_t index = 0; index < 2000; ++index) {
    const auto bit = path.accept({0, Direction::ToServer, index}, 40, 32, kStart).flipped_bit;
    ASSERT_TRUE(bit);
    smallest = std::min(smallest, *bit);
    largest = std::max(largest, *bit);
  }
  EXPECT_EQ(smallest, 0);
  EXPECT_EQ(largest, 63);
  EXPECT_FALSE(path.accept({0, Direction::ToServer, 0}, 20, 20, kStart).flipped_bit);
}

TEST(Path, ReorderedPacketsSkipTheDelay) {
  Path path({.one_way_delay = 20ms, .reorder_probability = 1});
  EXPECT_EQ(path.accept({0, Direction::ToServer, 0}, 100, kIpHeader, kStart).due, kStart);
}

TEST(Path, PacketsLargerThanTheMtuAreTooBig) {
  Path path({.mtu = 1280});
  EXPECT_EQ(path.accept({0, Direction::ToServer, 0}, 1280, kIpHeader, kStart).fate, Fate::Delivered);
  EXPECT_EQ(path.accept({0, Direction::ToServer, 1}, 1281, kIpHeader, kStart).fate, Fate::TooBig);
}

TEST(Path, NonsenseIsRefused) {
  EXPECT_THROW(Path({.loss_probability = 1.5}), std::invalid_argument);
  EXPECT_THROW(Path({.burst = GilbertElliott{.p = -0.1}}), std::invalid_argument);
  EXPECT_THROW(Path({.one_way_delay = -1ms}), std::invalid_argument);
}

}  // namespace
}  // namespace doxlab::link
