// How many lookups run at once changes nothing in what is lost.
//
// What is the same, exactly: the fate of packet k of direction d of sample s, where k counts the packets of
// one lookup in one direction from 0 as they enter the link. Times may differ, and with them how many packets
// a lookup sends (a timer that fires a moment before the answer) and which content packet k has. So for every
// k that both runs have, the packet is lost in both or in neither.

#include <gmock/gmock.h>

#include <map>

#include "experiment/rig.hpp"

namespace doxlab::experiment {
namespace {

constexpr std::uint64_t kSeed = 20250818;
constexpr std::uint64_t kSamples = 16;

/// For each packet of a run, whether it was lost.
using Fates = std::map<std::tuple<Transport, link::PacketPlace>, bool>;

Setup lossy() {
  Setup out;
  out.link.seed = kSeed;
  out.link.loss_probability = 0.05;
  out.link.one_way_delay = 3ms;
  out.timeout = 4s;
  return out;
}

Fates run_with(std::size_t in_flight) {
  const auto setup = lossy();
  Rig rig(setup);
  std::vector<Task> tasks;
  for (std::uint64_t sample = 0; sample < kSamples; ++sample)
    for (const auto transport : setup.transports) tasks.push_back({transport, sample});
  Fates out;
  std::map<std::tuple<Transport, std::uint64_t, link::Direction>, std::uint64_t> next;
  const bool finished = rig.run(
      tasks, {.interval = 2ms, .in_flight = in_flight},
      [&](Sample&& sample) {
        for (const auto& packet : sample.packets) {
          if (packet.duplicate) continue;
          const auto& place = packet.place;
          EXPECT_EQ(place.sample, sample.task.sample);
          // Counted without a gap, in the order in which they came.
          EXPECT_EQ(place.index, (next[{sample.task.transport, place.sample, place.direction}]++));
          EXPECT_THAT(packet.fate, testing::AnyOf(link::Fate::Delivered, link::Fate::Lost));
          const bool added =
              out.emplace(std::tuple(sample.task.transport, place), packet.fate == link::Fate::Lost).second;
          EXPECT_TRUE(added);
        }
      },
      {});
  EXPECT_TRUE(finished);
  return out;
}

TEST(Concurrency, OneOrSixtyFourAtOnceLoseTheSamePackets) {
  RecordProperty("seed", std::to_string(kSeed));
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const auto alone = run_with(1), together = run_with(64);
  link::Path model(lossy().link);
  std::size_t common = 0, lost = 0;
  for (const auto& [key, is_lost] : alone) {
    const auto& [transport, place] = key;
    const auto at = together.find(key);
    if (at == together.end()) continue;
    ++common;
    lost += is_lost;
    EXPECT_EQ(is_lost, at->second) << display_name(transport) << ", sample " << place.sample << ", "
                                   << to_string(place.direction) << ", packet " << place.index;
  }
  for (const auto& fates : {alone, together})
    for (const auto& [key, is_lost] : fates)
      EXPECT_EQ(is_lost, model.accept(std::get<1>(key), 100, 20, {}).fate == link::Fate::Lost);
  // Enough to mean something: most packets are common, and losses are among them.
  EXPECT_GT(common, std::max(alone.size(), together.size()) * 3 / 4);
  EXPECT_GT(lost, 30u);
}

}  // namespace
}  // namespace doxlab::experiment
