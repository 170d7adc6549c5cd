// What each detector finds in real lookups, and what is near it and must stay silent. Losses are scripted; each lookup
// has the sample number of its place in a list.

#include <gmock/gmock.h>

#include <optional>

#include "support/look_up.hpp"
#include "trace/carried.hpp"

namespace doxlab {
namespace {

using experiment::Start;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using trace::Finding;

/// The number in its direction of the first packet of the server that carries this.
std::optional<std::uint64_t> carrying(const Looked& looked, std::string_view what) {
  for (std::size_t i = 0; i < looked.analysis.packets.size(); ++i)
    if (looked.analysis.packets[i].place.direction == kToClient && trace::describe_packet(looked.analysis.dissection, i).contains(what))
      return looked.analysis.packets[i].place.index;
  return std::nullopt;
}

TEST(Detectors, RetryIsFoundWhereItWasSent) {
  experiment::Setup setup;
  setup.doh3_retry = quic::RetryPolicy::Always;
  const auto found = look_up_one(setup, Transport::Doh3);
  ASSERT_NE(found.find(Finding::RetryRoundTrip), nullptr);
  EXPECT_EQ(found.find(Finding::RetryRoundTrip)->packets.size(), 2u) << "the one that it answered, and itself";
  // DoQ of the same server has none, and neither has who brings a token.
  EXPECT_THAT(look_up_one(setup, Transport::Doq).findings(), Not(Contains(Finding::RetryRoundTrip)));
  setup.use_token = true;
  EXPECT_THAT(look_up_one(setup, Transport::Doh3).findings(), Not(Contains(Finding::RetryRoundTrip)));
}

TEST(Detectors, AmplificationLimitIsFoundFromTheByteOn) {
  experiment::Setup setup;
  setup.client_groups = "X25519";
  std::optional<std::uint64_t> least_short, most_fitting;
  for (const std::size_t chain : {1200U, 2400U, 2800U, 3200U, 3900U, 6000U}) {
    setup.chain.chain_bytes = chain;
    const auto looked = look_up_one(setup, Transport::Doq);
    const auto* found = looked.find(Finding::AmplificationStall);
    EXPECT_EQ(found != nullptr, looked.analysis.causes->round_trips.size() > 2) << chain << ": it costs a round trip, or is none";
    if (found != nullptr) {
      EXPECT_GT(looked.analysis.causes->stall->shortfall, 0u) << chain;
      least_short = std::min<std::uint64_t>(least_short.value_or(chain), chain);
    } else {
      most_fitting = std::max<std::uint64_t>(most_fitting.value_or(chain), chain);
    }
  }
  ASSERT_TRUE(least_short && most_fitting);
  EXPECT_LT(*most_fitting, *least_short);
}

TEST(Detectors, LostServerFlightIsNoAmplificationLimit) {
  // The flight fits; a loss in it makes the client answer before the rest comes.
  experiment::Setup setup;
  for (const auto& looked : look_up(setup, Transport::Doq, {{drop(kToClient, 1)}, {drop(kToClient, 2)}, {drop(kToServer, 2)}}))
    EXPECT_THAT(looked.findings(), Not(Contains(Finding::AmplificationStall))) << looked.sample.task.sample;
}

TEST(Detectors, CertificateBeyondTheWindow) {
  experiment::Setup setup;
  setup.chain.chain_bytes = 18'000;
  EXPECT_THAT(look_up_one(setup, Transport::Dot).findings(), Contains(Finding::CertificateBeyondWindow));
  setup.chain.chain_bytes = 11'000;
  const auto fitting = look_up(setup, Transport::Dot, {{}, {drop(kToClient, 4)}, {drop(kToServer, 4)}});
  for (const auto& looked : fitting)
    EXPECT_THAT(looked.findings(), Not(Contains(Finding::CertificateBeyondWindow)))
        << looked.sample.task.sample << ": a lost segment or acknowledgement is no window";
  setup.chain.chain_bytes = 18'000;
  setup.tcp_initial_window = 20;
  EXPECT_THAT(look_up_one(setup, Transport::Dot).findings(), Not(Contains(Finding::CertificateBeyondWindow)));
}

TEST(Detectors, WindowOfOneSegmentAfterLostSynAcks) {
  experiment::Setup setup;
  const auto looked = look_up(setup, Transport::Dot, {{drop(kToClient, 0), drop(kToClient, 1)}, {drop(kToServer, 0)}});
  ASSERT_NE(looked[0].find(Finding::CertificateBeyondWindow), nullptr);
  EXPECT_THAT(looked[0].find(Finding::CertificateBeyondWindow)->sentence, HasSubstr("one segment after lost SYN-ACKs"));
  EXPECT_THAT(looked[1].findings(), Not(Contains(Finding::CertificateBeyondWindow))) << "a lost SYN leaves the window as it is";
  setup.chain.chain_bytes = 18'000;
  const auto large = look_up(setup, Transport::Dot, {{drop(kToServer, 0)}});
  ASSERT_NE(large[0].find(Finding::CertificateBeyondWindow), nullptr);
  EXPECT_THAT(large[0].find(Finding::CertificateBeyondWindow)->sentence, Not(HasSubstr("SYN-ACK")));
}

TEST(Detectors, HalfOfAClientHello) {
  experiment::Setup setup;
  const auto in_two = look_up(setup, Transport::Doq,
                              {{drop(kToServer, 1)},                             // half
                               {drop(kToServer, 0), drop(kToServer, 1)},         // both
                               {late(kToServer, 0, 10ms)},                       // the other way round
                               {late(kToServer, 1, 30ms)}});                     // late
  EXPECT_THAT(in_two[0].findings(), Contains(Finding::ClientHelloHalfLost));
  ASSERT_NE(in_two[0].find(Finding::ClientHelloHalfLost), nullptr);
  EXPECT_EQ(in_two[0].find(Finding::ClientHelloHalfLost)->packets.size(), 1u) << "the lost one";
  for (std::size_t i = 1; i < in_two.size(); ++i)
    EXPECT_THAT(in_two[i].findings(), Not(Contains(Finding::ClientHelloHalfLost))) << i;
  setup.client_quic.first_flight_copies = 2;
  for (const auto& looked : look_up(setup, Transport::Doq, {{drop(kToServer, 0)}, {drop(kToServer, 1)}, {drop(kToServer, 2)}}))
    EXPECT_THAT(looked.findings(), Not(Contains(Finding::ClientHelloHalfLost))) << looked.sample.task.sample << ": its copy arrived";
  experiment::Setup small;
  small.client_groups = "X25519";
  EXPECT_THAT(look_up(small, Transport::Doq, {{drop(kToServer, 0)}})[0].findings(), Not(Contains(Finding::ClientHelloHalfLost)))
      << "a ClientHello in one datagram";
}

TEST(Detectors, ReorderingAndLossAreNoSpuriousRetransmission) {
  experiment::Setup setup;
  const std::vector<Script> scripts{{late(kToClient, 2, 5ms)}, {late(kToClient, 3, 30ms)}, {late(kToServer, 2, 5ms)},
                                    {drop(kToClient, 3)},      {drop(kToServer, 3)},       {drop(kToClient, 5)}};
  for (const auto& [transport, all] : look_up_all(setup, {Transport::Dot, Transport::Doq}, scripts))
    for (const auto& looked : all)
      EXPECT_THAT(looked.findings(), Not(Contains(Finding::SpuriousRetransmission)))
          << display_name(transport) << "/" << looked.sample.task.sample;
}

TEST(Detectors, PacketsAboveTheMtuOfThePath) {
  experiment::Setup setup;
  setup.client_quic.datagram_bytes = setup.server_quic.datagram_bytes = 1300;
  setup.timeout = 3s;
  setup.link.path_mtu = 1328;  // IPv4 and UDP: 28 bytes
  EXPECT_THAT(look_up_one(setup, Transport::Doq).findings(), Not(Contains(Finding::AbovePathMtu)));
  setup.link.path_mtu = 1327;
  auto all = look_up_all(setup, {Transport::Doq, Transport::Dot, Transport::Do53});
  for (const auto t : {Transport::Doq, Transport::Dot}) {
    const auto& looked = all[t].front();
    ASSERT_NE(looked.find(Finding::AbovePathMtu), nullptr) << display_name(t);
    for (const auto packet : looked.find(Finding::AbovePathMtu)->packets)
      EXPECT_GE(looked.analysis.packets[packet].bytes.size(), 1328u) << display_name(t);
  }
  EXPECT_THAT(all[Transport::Do53].front().findings(), IsEmpty()) << "small enough";
}

TEST(Detectors, EarlyDataNotUsedOrRejected) {
  for (const auto t : {Transport::Dot, Transport::Doq}) {
    SCOPED_TRACE(display_name(t));
    const auto with = [&](Start start, bool reject, bool wrong_guess) {
      experiment::Setup setup;
      setup.start = start;
      setup.reject_early_data = reject;
      if (wrong_guess) {
        setup.client_groups = "*X25519:secp256r1";
        setup.server_groups = "secp256r1";
      }
      return look_up_one(setup, t).findings();
    };
    const auto unused = Contains(Finding::EarlyDataNotUsed), rejected = Contains(Finding::EarlyDataRejected);
    EXPECT_THAT(with(Start::Cold, false, false), testing::AllOf(Not(unused), Not(rejected)));
    EXPECT_THAT(with(Start::Resumed, false, false), testing::AllOf(unused, Not(rejected)));
    EXPECT_THAT(with(Start::EarlyData, false, false), testing::AllOf(Not(unused), Not(rejected)));
    EXPECT_THAT(with(Start::EarlyData, true, false), testing::AllOf(Not(unused), rejected));
    EXPECT_THAT(with(Start::Resumed, false, true), testing::AllOf(Not(unused), Not(rejected)))
        << "after a HelloRetryRequest there is no early data";
  }
}

TEST(Detectors, NoSessionTicket) {
  const std::vector<Transport> encrypted{Transport::Dot, Transport::Doh, Transport::Doh3, Transport::Doq};
  experiment::Setup setup;
  const auto usual = look_up_all(setup, encrypted);
  setup.start = Start::Reused;
  const auto reused = look_up_all(setup, encrypted);
  setup.start = Start::Cold;
  setup.tickets = 0;
  const auto without = look_up_all(setup, encrypted);
  setup.tickets = 1;
  for (const auto t : encrypted) {
    SCOPED_TRACE(display_name(t));
    EXPECT_THAT(usual.at(t).front().findings(), Not(Contains(Finding::NoSessionTicket)));
    EXPECT_THAT(reused.at(t).front().findings(), Not(Contains(Finding::NoSessionTicket))) << "it was given before";
    EXPECT_THAT(without.at(t).front().findings(), Contains(Finding::NoSessionTicket));
    const auto ticket = carrying(usual.at(t).front(), "NewSessionTicket");
    ASSERT_TRUE(ticket);
    EXPECT_THAT(look_up(setup, t, {{drop(kToClient, *ticket)}})[0].findings(), Not(Contains(Finding::NoSessionTicket)))
        << "it was given, and lost";
  }
}

TEST(Detectors, ClosedBeforeTheAnswer) {
  experiment::Setup setup;
  setup.client_groups = "X25519";
  setup.server_groups = "secp256r1";
  setup.timeout = 2s;
  for (const auto t : {Transport::Dot, Transport::Doq})
    EXPECT_THAT(look_up_one(setup, t).findings(), Contains(Finding::ClosedBeforeAnswer)) << display_name(t);
  // Who gives up itself is not closed upon, even if the server then closes too.
  experiment::Setup impatient;
  impatient.timeout = 90ms;
  for (const auto t : {Transport::Dot, Transport::Do53Tcp, Transport::Doq}) {
    const auto all = look_up(impatient, t, {{drop(kToServer, 2), drop(kToServer, 3)}});
    const auto& looked = all.front();
    ASSERT_FALSE(looked.sample.result.answered) << display_name(t);
    EXPECT_THAT(looked.findings(), Not(Contains(Finding::ClosedBeforeAnswer))) << display_name(t);
  }
}

TEST(Detectors, CleanLookupsHaveNoFindings) {
  const std::vector<Transport> all(kAllTransports.begin(), kAllTransports.end());
  for (const auto& [transport, looked] : look_up_all(experiment::Setup{}, all))
    EXPECT_THAT(looked.front().findings(), IsEmpty()) << display_name(transport);
}

}  // namespace
}  // namespace doxlab
