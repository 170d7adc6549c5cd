// From findings to changed setups: one thing differs, and only for the transports that have the finding.

#include <gmock/gmock.h>

#include "experiment/propose.hpp"

namespace doxlab::experiment {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> options_of(const std::vector<Proposal>& proposals) {
  std::vector<std::string> out;
  for (const auto& one : proposals) out.push_back(one.options);
  return out;
}

std::vector<Proposal> propose_for(const Setup& setup, std::string finding, Transport transport = Transport::Doq,
                                  std::optional<std::uint64_t> shortfall = {}) {
  const Found found[] = {{transport, std::move(finding), shortfall}};
  return propose(setup, found);
}

TEST(Propose, NothingForNoFinding) { EXPECT_THAT(propose({}, {}), IsEmpty()); }

TEST(Propose, NothingForWhatNoSettingChanges) {
  EXPECT_THAT(propose_for({}, "spurious_retransmission"), IsEmpty());
  EXPECT_THAT(propose_for({}, "a_finding_of_tomorrow"), IsEmpty());
}

TEST(Propose, RetryGoesOffForTheTransportsThatHaveIt) {
  experiment::Setup setup;
  setup.doq_retry = setup.doh3_retry = quic::RetryPolicy::Always;
  const auto proposals = propose_for(setup, "retry_round_trip", Transport::Doh3);
  ASSERT_THAT(options_of(proposals), ElementsAre("--retry off"));
  EXPECT_EQ(proposals[0].setup.doh3_retry, quic::RetryPolicy::Off);
  EXPECT_THAT(proposals[0].setup.transports, ElementsAre(Transport::Doh3));
}

TEST(Propose, RetryThatIsOffAlreadyCannotGoOff) {
  experiment::Setup setup;
  EXPECT_THAT(propose_for(setup, "retry_round_trip", Transport::Doq), IsEmpty());
  setup.doh3_retry = quic::RetryPolicy::Always;
  const Found found[] = {{Transport::Doq, "retry_round_trip", {}}, {Transport::Doh3, "retry_round_trip", {}}};
  const auto proposals = propose(setup, found);
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_THAT(proposals[0].setup.transports, ElementsAre(Transport::Doh3));
}

TEST(Propose, StallOfClassicalClientHasThreeWaysOut) {
  experiment::Setup setup;
  setup.client_groups = "*X25519:secp256r1";
  const Found found[] = {{Transport::Doq, "amplification_stall", 862}, {Transport::Doh3, "amplification_stall", 864}};
  const auto proposals = propose(setup, found);
  ASSERT_THAT(options_of(proposals),
              ElementsAre("--group '*X25519MLKEM768:*X25519:secp256r1'", "--chain-bytes 3020", "--compression zstd"));
  for (const auto& one : proposals) EXPECT_THAT(one.setup.transports, ElementsAre(Transport::Doq, Transport::Doh3));
  // One thing at a time.
  EXPECT_EQ(proposals[0].setup.chain.chain_bytes, setup.chain.chain_bytes);
  EXPECT_EQ(proposals[1].setup.client_groups, setup.client_groups);
  EXPECT_EQ(proposals[1].setup.chain.chain_bytes, 3900u - 864 - 16);
  EXPECT_THAT(proposals[2].setup.client_compression, ElementsAre(tls::CertificateCompression::Zstd));
  EXPECT_THAT(proposals[2].setup.server_compression, ElementsAre(tls::CertificateCompression::Zstd));
}

TEST(Propose, UnmarkedClassicalListKeepsItsKeyShare) {
  experiment::Setup setup;
  setup.client_groups = "X25519:X25519MLKEM768";
  const auto proposals = propose_for(setup, "amplification_stall", Transport::Doq, 100);
  ASSERT_FALSE(proposals.empty());
  EXPECT_EQ(proposals[0].setup.client_groups, "*X25519MLKEM768:*X25519");
}

TEST(Propose, StallOfHybridClientIsAMatterOfTheChain) {
  experiment::Setup setup;
  setup.chain.chain_bytes = 20000;
  EXPECT_THAT(options_of(propose_for(setup, "amplification_stall", Transport::Doq, 15085)),
              ElementsAre("--chain-bytes 4899", "--compression zstd"));
}

TEST(Propose, NoChainThatCannotBe) {
  experiment::Setup setup;
  setup.chain.chain_bytes = 1000;
  EXPECT_THAT(options_of(propose_for(setup, "amplification_stall", Transport::Doq, 990)), ElementsAre("--compression zstd"));
}

TEST(Propose, CompressionOnlyWhereThereIsNone) {
  experiment::Setup setup;
  setup.client_compression = setup.server_compression = {tls::CertificateCompression::Zstd};
  EXPECT_THAT(options_of(propose_for(setup, "certificate_beyond_window", Transport::Dot, 700)), ElementsAre("--chain-bytes 3184"));
}

TEST(Propose, HalfLostClientHelloIsSentTwiceOrMadeSmaller) {
  const auto proposals = propose_for({}, "client_hello_half_lost");
  ASSERT_THAT(options_of(proposals), ElementsAre("--first-flight-copies 2", "--group X25519"));
  EXPECT_EQ(proposals[0].setup.client_quic.first_flight_copies, 2u);
  EXPECT_EQ(proposals[1].setup.client_groups, "*X25519");
}

TEST(Propose, ResumptionAndEarlyData) {
  experiment::Setup setup;
  setup.tickets = 0;
  const auto tickets = propose_for(setup, "no_session_ticket", Transport::Dot);
  ASSERT_EQ(tickets.size(), 1u);
  EXPECT_EQ(tickets[0].setup.tickets, 1u);
  EXPECT_EQ(tickets[0].setup.start, Start::Resumed);

  setup = {};
  setup.start = Start::Resumed;
  const auto early = propose_for(setup, "early_data_not_used", Transport::Dot);
  ASSERT_EQ(early.size(), 1u);
  EXPECT_EQ(early[0].setup.start, Start::EarlyData);

  setup.start = Start::EarlyData;
  setup.reject_early_data = true;
  const auto accepted = propose_for(setup, "early_data_rejected", Transport::Dot);
  ASSERT_EQ(accepted.size(), 1u);
  EXPECT_FALSE(accepted[0].setup.reject_early_data);
}

TEST(Propose, DatagramsThatFitThePath) {
  experiment::Setup setup;
  setup.link.mtu = 1400;
  setup.client_quic.datagram_bytes = setup.server_quic.datagram_bytes = 1452;
  const Found found[] = {{Transport::Do53, "above_path_mtu", {}}, {Transport::Doq, "above_path_mtu", {}}};
  const auto proposals = propose(setup, found);
  ASSERT_THAT(options_of(proposals), ElementsAre("--datagram-bytes 1372"));
  EXPECT_THAT(proposals[0].setup.transports, ElementsAre(Transport::Doq));
  setup.ipv6 = true;
  EXPECT_THAT(options_of(propose(setup, found)), ElementsAre("--datagram-bytes 1352"));
  EXPECT_THAT(propose_for(setup, "above_path_mtu", Transport::Do53), IsEmpty());
}

}  // namespace
}  // namespace doxlab::experiment
