// CRYPTO data that is lost and never sent again: found in a server that has the fault, and never in those that have not.

#include <gmock/gmock.h>

#include <format>

#include "support/look_up.hpp"
#include "trace/carried.hpp"

namespace doxlab {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using trace::Finding;

experiment::Setup against(const char* subject) {
  experiment::Setup setup;
  setup.timeout = 5s;
  experiment::choose_subject(setup, subject);
  return setup;
}

/// One script for each of the first packets of the server, which is lost.
std::vector<Script> each_lost(std::uint64_t packets) {
  std::vector<Script> out;
  for (std::uint64_t k = 0; k < packets; ++k) out.push_back({drop(kToClient, k)});
  return out;
}

TEST(LostCrypto, OfAServerThatNeverSendsItAgainIsFoundWithThePacket) {
  std::size_t died = 0;
  for (const auto& looked : look_up(against(experiment::kStandIn), Transport::Doq, each_lost(5))) {
    SCOPED_TRACE(looked.sample.task.sample);
    const auto* found = looked.find(Finding::LostCryptoNotResent);
    ASSERT_EQ(found == nullptr, looked.sample.result.answered.has_value()) << "it is what lookups die of, and nothing else";
    if (found == nullptr) continue;
    ++died;
    // The packet that the script dropped, and no other, held what is missing.
    ASSERT_FALSE(found->packets.empty());
    const auto& lost = looked.analysis.packets[found->packets.front()];
    EXPECT_EQ(lost.place.direction, kToClient);
    EXPECT_EQ(lost.place.index, looked.sample.task.sample);
    EXPECT_FALSE(looked.analysis.observed[found->packets.front()].delivered);
    EXPECT_THAT(trace::describe_packet(looked.analysis.dissection, found->packets.front()), HasSubstr("ServerHello"));
    EXPECT_THAT(found->sentence, HasSubstr("Initial"));
  }
  EXPECT_EQ(died, 1u) << "the packet with the ServerHello";
}

TEST(LostCrypto, OfServersThatSendItAgainIsNone) {
  for (const auto& [subject, transport] : {std::pair{"builtin", Transport::Doq}, std::pair{"builtin", Transport::Doh3},
                                           std::pair{"nginx", Transport::Doh3}, std::pair{"knot", Transport::Doq}})
    for (const auto& looked : look_up(against(subject), transport, each_lost(7))) {
      SCOPED_TRACE(std::format("{}, {}, packet {} lost", subject, display_name(transport), looked.sample.task.sample));
      EXPECT_TRUE(looked.sample.result.answered);
      EXPECT_THAT(looked.findings(), Not(Contains(Finding::LostCryptoNotResent)));
    }
}

TEST(LostCrypto, IsNoneInHandshakesUnderHeavyLoss) {
  constexpr std::size_t kEach = 100;
  for (const auto& [subject, transport] :
       {std::pair{"builtin", Transport::Doq}, std::pair{"nginx", Transport::Doh3}, std::pair{"knot", Transport::Doq}}) {
    SCOPED_TRACE(subject);
    auto setup = against(subject);
    setup.timeout = 15s;
    setup.link.loss_probability = 0.15;
    std::size_t answered = 0;
    for (const auto& looked : look_up(setup, transport, std::vector<Script>(kEach))) {
      answered += looked.sample.result.answered ? 1 : 0;
      EXPECT_THAT(looked.findings(), Not(Contains(Finding::LostCryptoNotResent))) << looked.sample.task.sample;
    }
    EXPECT_GE(answered, kEach * 9 / 10);
  }
}

}  // namespace
}  // namespace doxlab
