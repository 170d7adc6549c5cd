// A run that is split and joined is the run that was not split: the same packets are lost in every sample.

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "link/path.hpp"
#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

constexpr std::uint64_t kSeed = 20250817;
constexpr double kLossPercent = 5;
constexpr std::uint64_t kSamples = 12;

using Key = std::pair<std::string, std::uint64_t>;  // transport and sample
using Numbers = std::vector<std::uint64_t>;

/// What one sample says of the packets of a direction.
struct Way {
  std::uint64_t sent = 0;  // until the answer
  Numbers lost;

  /// The lost ones among the first `count`.
  Numbers lost_of(std::uint64_t count) const {
    Numbers out;
    std::ranges::copy_if(lost, std::back_inserter(out), [count](auto index) { return index < count; });
    return out;
  }
};

struct Packets {
  Way ways[2];  // by link::Direction
  bool answered = false, disturbed = false;
};

/// A run of 5% loss with these further arguments, into `file`.
void run_loss(const test::TemporaryFolder& folder, const std::string& file,
              std::vector<std::string> arguments) {
  std::vector<std::string> all = {"loss",
                                  "-n",
                                  std::to_string(kSamples),
                                  "--loss",
                                  std::to_string(kLossPercent),
                                  "--seed",
                                  std::to_string(kSeed),
                                  "--delay",
                                  "5",
                                  "--timeout",
                                  "2.5",
                                  "--json",
                                  folder.file(file)};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const auto finished = test::run_program(test::doxlab(all), 200s);
  ASSERT_EQ(finished.status, 0) << finished;
}

std::map<Key, Packets> packets_of(const test::Json& run) {
  std::map<Key, Packets> out;
  for (const auto& sample : run["samples"].get_array()) {
    Packets packets;
    packets.answered = sample.contains("ms");
    packets.disturbed = sample["disturbed"].get<bool>();
    for (const auto direction : {link::Direction::ToServer, link::Direction::ToClient}) {
      const auto name = std::string(to_string(direction));
      auto& way = packets.ways[static_cast<std::size_t>(direction)];
      way.sent = static_cast<std::uint64_t>(test::number(sample, "pkts_" + name));
      for (const auto& index : sample["lost_" + name].get_array())
        way.lost.push_back(static_cast<std::uint64_t>(index.get<double>()));
    }
    const Key key(test::text(sample, "transport"),
                  static_cast<std::uint64_t>(test::number(sample, "sample")));
    EXPECT_TRUE(out.emplace(key, packets).second) << key.first << " " << key.second << " is there twice";
  }
  return out;
}

/// What the model alone, without any lab, does to the first `count` packets of a sample.
Numbers lost_by_the_model(std::uint64_t sample, link::Direction direction, std::uint64_t count) {
  link::Path path({.seed = kSeed, .loss_probability = kLossPercent / 100});
  Numbers out;
  for (std::uint64_t index = 0; index < count; ++index)
    if (path.accept({sample, direction, index}, 100, 20, {}).fate == link::Fate::Lost) out.push_back(index);
  return out;
}

TEST(Shards, MergedTheyLoseThePacketsThatTheWholeLoses) {
  RecordProperty("seed", std::to_string(kSeed));
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const test::TemporaryFolder folder;
  run_loss(folder, "whole.json", {});
  for (int shard = 0; shard < 3; ++shard)
    run_loss(folder, std::format("part-{}.json", shard), {"--shard", std::format("{}/3", shard)});
  const auto merging =
      test::run_program(test::doxlab({"merge", folder.file("merged.json"), folder.file("part-2.json"),
                                      folder.file("part-0.json"), folder.file("part-1.json")}));
  ASSERT_EQ(merging.status, 0) << merging;

  const auto whole = test::parse_json(folder.read("whole.json"));
  const auto merged = test::parse_json(folder.read("merged.json"));
  for (const char* name :
       {"schema_version", "experiment", "repetitions", "complete", "options", "link", "endpoints"})
    EXPECT_EQ(merged[name].dump().value_or("?"), whole[name].dump().value_or("?")) << name;
  EXPECT_FALSE(merged.contains("shard"));
  EXPECT_EQ(merged["parts"].size(), 3u);

  const auto one = packets_of(whole), other = packets_of(merged);
  ASSERT_EQ(one.size(), kSamples * whole["results"].size());
  std::size_t lost = 0;
  for (const auto& [key, packets] : one) {
    SCOPED_TRACE(key.first + ", sample " + std::to_string(key.second));
    const auto at = other.find(key);
    ASSERT_NE(at, other.end());
    for (const auto direction : {link::Direction::ToServer, link::Direction::ToClient}) {
      const auto& mine = packets.ways[static_cast<std::size_t>(direction)];
      const auto& its = at->second.ways[static_cast<std::size_t>(direction)];
      // A busy machine may send a retransmission more; all packets that both sent have the same fate.
      const auto common = std::min(mine.sent, its.sent);
      EXPECT_EQ(mine.lost_of(common), its.lost_of(common)) << to_string(direction);
      EXPECT_EQ(mine.lost_of(mine.sent), lost_by_the_model(key.second, direction, mine.sent))
          << to_string(direction);
      EXPECT_EQ(its.lost_of(its.sent), lost_by_the_model(key.second, direction, its.sent))
          << to_string(direction);
      lost += mine.lost_of(common).size();
    }
    // One packet each way and no clock that asks again: who is answered is decided by the draws alone.
    if (key.first == "do53" && !packets.disturbed && !at->second.disturbed) {
      EXPECT_EQ(packets.answered, at->second.answered);
      EXPECT_EQ(packets.ways[0].lost, at->second.ways[0].lost);
      EXPECT_EQ(packets.ways[1].lost, at->second.ways[1].lost);
    }
  }
  EXPECT_EQ(other.size(), one.size());
  EXPECT_GT(lost, 10u) << "too few losses to compare anything";
  for (const auto& [transport, summary] : whole["results"].get_object()) {
    const auto total = [&](const test::Json& of) {
      return test::number(of, "n") + test::number(of, "timeouts") + test::number(of, "disturbed");
    };
    EXPECT_EQ(total(summary), kSamples) << transport;
    EXPECT_EQ(total(merged["results"][transport]), kSamples) << transport;
  }
}

TEST(Shards, TransportsMeetTheSameDraws) {
  RecordProperty("seed", std::to_string(kSeed));
  const test::TemporaryFolder folder;
  run_loss(folder, "out.json", {"--only", "dot,doq"});
  const auto packets = packets_of(test::parse_json(folder.read("out.json")));
  for (std::uint64_t sample = 0; sample < kSamples; ++sample)
    for (std::size_t way = 0; way < 2; ++way) {
      const auto &dot = packets.at({"dot", sample}).ways[way], &doq = packets.at({"doq", sample}).ways[way];
      const auto common = std::min(dot.sent, doq.sent);
      EXPECT_EQ(dot.lost_of(common), doq.lost_of(common)) << "sample " << sample << ", seed " << kSeed;
    }
}

TEST(Shards, MergeNamesTheShardThatIsMissingAndRefusesOtherSettings) {
  const test::TemporaryFolder folder;
  const auto part = [&](const std::string& file, std::vector<std::string> arguments) {
    std::vector<std::string> all = {"loss",   "-n",   "6",      "--loss",         "0", "--delay", "2",
                                    "--only", "do53", "--json", folder.file(file)};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const auto finished = test::run_program(test::doxlab(all));
    ASSERT_EQ(finished.status, 0) << finished;
  };
  part("0.json", {"--shard", "0/3"});
  part("1.json", {"--shard", "1/3", "--samples", folder.file("1.ndjson")});
  part("other.json", {"--shard", "2/3", "--mtu", "1280"});
  part("seed.json", {"--shard", "2/3", "--seed", "2"});
  const auto merge = [&](std::vector<std::string> names) {
    std::vector<std::string> all = {"merge", "--force", folder.file("out.json")};
    for (const auto& name : names) all.push_back(folder.file(name));
    return test::run_program(test::doxlab(all));
  };
  const auto incomplete = merge({"0.json", "1.json"});
  EXPECT_EQ(incomplete.status, 1);
  EXPECT_THAT(incomplete.errors,
              testing::HasSubstr("no file is shard 2 of 3\nDo53: 2 of 6 samples are missing\n"));
  const auto out = test::parse_json(folder.read("out.json"));
  EXPECT_FALSE(out["complete"].get<bool>());
  EXPECT_EQ(out["samples"].size(), 4u);  // those of the file beside 1.json among them
  const auto other = merge({"0.json", "other.json"});
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.errors, testing::HasSubstr("mtu is 1500 in one and 1280 in the other"));
  EXPECT_THAT(merge({"0.json", "seed.json"}).errors,
              testing::HasSubstr("the seed is 1 in one and 2 in the other"));
  EXPECT_THAT(merge({"0.json", "1.json", "0.json"}).errors,
              testing::HasSubstr("overlap: both have sample 0 of do53"));
}

}  // namespace
}  // namespace doxlab
