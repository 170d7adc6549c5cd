// Lookups under loss, one at a time: what a seed and a sample number repeat.

#include <gtest/gtest.h>

#include "experiment/loss.hpp"

namespace doxlab::experiment {
namespace {

// Here the SYN-ACK is lost, then the end of the ClientHello, then the query: after a lost SYN the kernel's timeout is
// 3 s, so the ClientHello is complete after 3.3 s and the query would come after 6.3 s. A server with less
// patience than its clients turned that into a lookup without an answer.
TEST(Loss, ServerOutwaitsTheRecoveryOfALostSynAck) {
  experiment::Setup setup;
  set_as_published(setup);
  setup.link.loss_probability = 0.02;
  setup.transports = {Transport::Dot};
  const auto run = run_loss(setup, 10000, results::Shard{7870, 10000}, {}, "test", {}, {});
  ASSERT_EQ(run.samples.size(), 1u);
  const auto& sample = run.samples.front();
  EXPECT_EQ(sample.sample, 7870u);
  EXPECT_EQ(sample.lost_s2c, std::vector<std::uint64_t>{0});
  EXPECT_EQ(sample.outcome, "answered") << sample.reason;
}

}  // namespace
}  // namespace doxlab::experiment
