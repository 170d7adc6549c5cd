// Every millisecond and every byte of real lookups is accounted for, and the known causes come out by themselves. That
// the sums are exact is checked by analyse() in every run: it throws if they are not.

#include <gmock/gmock.h>

#include <iostream>
#include <set>

#include "experiment/analysis.hpp"
#include "experiment/sampler.hpp"
#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

using experiment::Analysis;
using experiment::Sample;
using experiment::Setup;
using testing::Contains;
using testing::ElementsAre;
using testing::Key;
using testing::Not;
using trace::Finding;
using trace::Need;

/// Analyses lookups of each transport of the setup and hands them over.
void for_each_analysis(const Setup& setup, std::uint64_t count,
                       const std::function<void(const Sample&, const Analysis&)>& see) {
  experiment::Rig rig(setup);
  std::vector<experiment::Task> tasks;
  for (std::uint64_t sample = 0; sample < count; ++sample)
    for (auto t : setup.transports) tasks.push_back({t, sample});
  run_sampler(rig, tasks, {}, [&](Sample&& sample) { see(sample, analyse(sample, setup.link)); }, {}, {});
}

/// One lookup of one transport.
Analysis analyse_one(Setup setup, Transport transport, Sample* kept = nullptr) {
  setup.transports = {transport};
  Analysis out;
  for_each_analysis(setup, 1, [&](const Sample& sample, const Analysis&) {
    out = analyse(sample, setup.link);
    if (kept != nullptr) *kept = sample;
  });
  return out;
}

std::vector<Need> needs(const Analysis& analysis) {
  std::vector<Need> out;
  if (analysis.causes)
    for (const auto& trip : analysis.causes->round_trips) out.push_back(trip.need);
  return out;
}

std::vector<Finding> findings(const Analysis& analysis) {
  std::vector<Finding> out;
  for (const auto& found : analysis.findings) out.push_back(found.finding);
  return out;
}

link::Scripted drop(link::Direction direction, std::uint64_t index) {
  return {.place = {.sample = 0, .direction = direction, .index = index}};
}

TEST(Explain, EveryTransportUnderLossIsExplained) {
  experiment::Setup setup;
  experiment::set_as_published(setup);
  setup.link.loss_probability = 0.05;
  constexpr std::uint64_t kEach = 60;
  std::size_t answered = 0, unexplained = 0;
  for_each_analysis(setup, kEach, [&](const Sample& sample, const Analysis& analysis) {
    const auto name = std::string(display_name(sample.task.transport)) + "/" + std::to_string(sample.task.sample);
    EXPECT_EQ(analysis.until_answer[trace::Owner::Other].total() + analysis.after_answer[trace::Owner::Other].total(), 0)
        << name << ": octets that nobody owns";
    EXPECT_THAT(findings(analysis), Not(Contains(Finding::LostCryptoNotResent))) << name;
    if (!sample.result.answered) return;
    ++answered;
    ASSERT_TRUE(analysis.causes) << name;
    EXPECT_EQ(analysis.causes->round_trips.back().need, Need::Query) << name;
    if (analysis.causes->is_explained() || sample.disturbed) return;
    ++unexplained;
    for (const auto& span : analysis.causes->spans)
      if (span.kind == trace::SpanKind::Unexplained)
        std::cout << "[unexplained] " << name << ": " << to_ms(span.length()) << " ms before packet " << span.packets.back() << "\n";
  });
  EXPECT_GT(answered, 7 * kEach);
  EXPECT_LE(unexplained, 2u) << "of " << answered;
}

TEST(Explain, PublishedFindingsComeOutByThemselves) {
  experiment::Setup published;
  experiment::set_as_published(published);
  EXPECT_THAT(needs(analyse_one(published, Transport::Doh3)), ElementsAre(Need::Retry, Need::QuicHandshake, Need::Query));
  EXPECT_THAT(needs(analyse_one(published, Transport::Dot)),
              ElementsAre(Need::TcpHandshake, Need::TlsHandshake, Need::Query));
  EXPECT_THAT(needs(analyse_one(published, Transport::Dnscrypt)), ElementsAre(Need::CertificateFetch, Need::Query));
  const auto doq = analyse_one(published, Transport::Doq);
  EXPECT_THAT(needs(doq), ElementsAre(Need::QuicHandshake, Need::Query));
  EXPECT_FALSE(doq.causes->stall);

  auto classical = published;
  classical.client_groups = "X25519";
  const auto stalled = analyse_one(classical, Transport::Doq);
  EXPECT_THAT(needs(stalled), ElementsAre(Need::QuicHandshake, Need::AmplificationLimit, Need::Query));
  ASSERT_TRUE(stalled.causes->stall);
  const auto& stall = *stalled.causes->stall;
  EXPECT_EQ(stall.budget, 3 * stall.received);
  EXPECT_LE(stall.sent, stall.budget);
  EXPECT_EQ(stall.shortfall, stall.flight - stall.budget);
  EXPECT_GT(stall.shortfall, 0u);
  EXPECT_THAT(findings(stalled), Contains(Finding::AmplificationStall));

  auto guessed_wrong = published;
  guessed_wrong.client_groups = "*X25519:secp256r1";
  guessed_wrong.server_groups = "secp256r1";
  EXPECT_THAT(needs(analyse_one(guessed_wrong, Transport::Dot)),
              ElementsAre(Need::TcpHandshake, Need::HelloRetryRequest, Need::TlsHandshake, Need::Query));
}

TEST(Explain, TimersAreNamed) {
  using link::Direction;
  const auto causes = [](Transport transport, std::vector<link::Scripted> script) {
    experiment::Setup setup;
    setup.link.script = std::move(script);
    return experiment::causes_ms(analyse_one(setup, transport));
  };
  const auto syn = causes(Transport::Dot, {drop(Direction::ToServer, 0)});
  ASSERT_THAT(syn, Contains(Key("syn_retransmission")));
  EXPECT_NEAR(syn.at("syn_retransmission"), 1000, 60);
  // The query of DoT: after SYN, ACK, ClientHello in two segments, and an acknowledgement of the server's flight.
  const auto answer = causes(Transport::Do53Tcp, {drop(Direction::ToServer, 2)});
  ASSERT_THAT(answer, Contains(Key("rto")));
  EXPECT_NEAR(answer.at("rto"), 240, 60);
  // A window of one segment after lost SYN-ACKs: the probe for the first one lost is the next one.
  const auto probe = causes(Transport::Dot, {drop(Direction::ToClient, 0), drop(Direction::ToClient, 1), drop(Direction::ToClient, 5)});
  ASSERT_THAT(probe, Contains(Key("tlp")));
  EXPECT_NEAR(probe.at("tlp"), 240, 60);
  EXPECT_THAT(probe, Not(Contains(Key("unexplained"))));
  const auto initial = causes(Transport::Doq, {drop(Direction::ToServer, 0), drop(Direction::ToServer, 1)});
  ASSERT_THAT(initial, Contains(Key("pto_initial")));
  EXPECT_NEAR(initial.at("pto_initial"), 999, 60) << "three times 333 ms";
}

TEST(Explain, StartsThatAreNotColdAreExplained) {
  for (const auto start : {experiment::Start::Reused, experiment::Start::Resumed, experiment::Start::EarlyData}) {
    experiment::Setup setup;
    setup.start = start;
    setup.transports = {Transport::Dot, Transport::Doh, Transport::Doh3, Transport::Doq};
    for_each_analysis(setup, 1, [&](const Sample& sample, const Analysis& analysis) {
      const auto name = std::string(display_name(sample.task.transport)) + ", " + std::string(to_string(start));
      ASSERT_TRUE(analysis.causes) << name << ": " << sample.result.reason;
      EXPECT_TRUE(analysis.causes->is_explained()) << name;
      EXPECT_EQ(analysis.until_answer[trace::Owner::Other].total(), 0) << name;
      const bool tcp = is_stream(sample.task.transport);
      const std::size_t trips = start == experiment::Start::Reused ? 1 : start == experiment::Start::Resumed ? 2 + tcp : 1 + tcp;
      EXPECT_EQ(analysis.causes->round_trips.size(), trips) << name;
      if (start != experiment::Start::Reused) {
        EXPECT_EQ(analysis.until_answer[trace::Owner::Certificate].total(), 0) << name;
      }
      EXPECT_EQ(std::ranges::count(findings(analysis), Finding::EarlyDataNotUsed), start == experiment::Start::Resumed) << name;
    });
  }
}

TEST(Explain, RejectedEarlyDataWaitsForTheHandshakeAndForNoTimer) {
  for (const auto t : {Transport::Dot, Transport::Doh3, Transport::Doq}) {
    experiment::Setup setup;
    setup.start = experiment::Start::EarlyData;
    setup.reject_early_data = true;
    const auto analysis = analyse_one(setup, t);
    ASSERT_TRUE(analysis.causes) << display_name(t);
    EXPECT_THAT(findings(analysis), Contains(Finding::EarlyDataRejected)) << display_name(t);
    if (is_stream(t)) EXPECT_THAT(needs(analysis), ElementsAre(Need::TcpHandshake, Need::TlsHandshake, Need::Query));
    else EXPECT_THAT(needs(analysis), ElementsAre(Need::QuicHandshake, Need::Query)) << display_name(t);
    for (const auto& [cause, ms] : experiment::causes_ms(analysis)) EXPECT_THAT(cause, Not(testing::StartsWith("pto"))) << display_name(t);
  }
}

TEST(Explain, TicketThatIsNeverOfferedIsFound) {
  experiment::Setup setup;
  setup.tickets = 0;
  EXPECT_THAT(findings(analyse_one(setup, Transport::Dot)), Contains(Finding::NoSessionTicket));
  EXPECT_THAT(findings(analyse_one(setup, Transport::Doq)), Contains(Finding::NoSessionTicket));
  setup.tickets = 1;
  EXPECT_THAT(findings(analyse_one(setup, Transport::Dot)), Not(Contains(Finding::NoSessionTicket)));
  EXPECT_THAT(findings(analyse_one(setup, Transport::Doq)), Not(Contains(Finding::NoSessionTicket)));
}

TEST(Explain, LargeCertificateIsBeyondTheFirstWindow) {
  experiment::Setup setup;
  setup.chain.chain_bytes = 20'000;
  const auto analysis = analyse_one(setup, Transport::Dot);
  EXPECT_THAT(needs(analysis), ElementsAre(Need::TcpHandshake, Need::TlsHandshake, Need::CongestionWindow, Need::Query));
  EXPECT_THAT(findings(analysis), Contains(Finding::CertificateBeyondWindow));
}

TEST(Explain, HalfOfAClientHelloLost) {
  experiment::Setup setup;
  setup.link.script = {drop(link::Direction::ToServer, 1)};
  const auto analysis = analyse_one(setup, Transport::Doq);
  EXPECT_THAT(findings(analysis), Contains(Finding::ClientHelloHalfLost));
  EXPECT_THAT(experiment::causes_ms(analysis), Contains(Key("pto_initial")));
}

TEST(Explain, CommandLineExplainsItsOwnCapture) {
  const test::TemporaryFolder folder;
  const auto capture = folder.file("run.pcapng"), json = folder.file("out.json"), loss = folder.file("loss.json");
  // Packets are lost by the script of the seed: some SYN or Initial among so many lookups.
  const auto made = test::run_program(
      test::doxlab({"loss", "--loss", "10", "-n", "12", "--only", "do53-tcp,dot,doh3,doq", "--capture", capture, "--json", loss}), 120s);
  ASSERT_EQ(made.status, 0) << made;
  const auto run = test::run_program(test::doxlab({"explain", capture, "--most", "1000", "--json", json}), 60s);
  ASSERT_EQ(run.status, 0) << run;
  EXPECT_THAT(run.output, testing::HasSubstr("Where the time went"));
  std::set<std::string> transports, needs;
  std::size_t lost = 0, whole = 0, unexplained = 0;
  std::vector<double> explained, measured;
  const auto all = test::parse_json(folder.read("out.json"));
  for (const auto& lookup : all.get_array()) {
    transports.insert(test::text(lookup, "transport"));
    for (const auto& trip : lookup["round_trips"].get_array()) needs.insert(test::text(trip, "need"));
    for (const auto& packet : lookup["packets"].get_array()) lost += test::text(packet, "fate") == "lost";
    whole += lookup["is_whole"].get<bool>();
    if (test::text(lookup, "outcome") != "answered") continue;
    double sum = 0;
    for (const auto& span : lookup["spans"].get_array()) {
      sum += test::number(span, "ms");
      unexplained += test::text(span, "cause") == "unexplained";
    }
    EXPECT_NEAR(sum, test::number(lookup, "ms"), 1e-6) << test::text(lookup, "what");
    explained.push_back(sum);
  }
  const auto of_run = test::parse_json(folder.read("loss.json"));
  for (const auto& sample : of_run["samples"].get_array())
    if (sample["ms"].is_number()) measured.push_back(test::number(sample, "ms"));
  std::ranges::sort(explained);
  std::ranges::sort(measured);
  ASSERT_EQ(explained.size(), measured.size());
  // A capture begins with the first packet and ends with the last; the lookup took a little computing more.
  for (std::size_t i = 0; i < measured.size(); ++i) EXPECT_NEAR(explained[i], measured[i], 30) << i;
  EXPECT_LE(unexplained, 2u) << "a machine that stands still may leave one or two";
  EXPECT_THAT(transports, ElementsAre("Do53/TCP", "DoH3", "DoQ", "DoT"));
  EXPECT_THAT(needs, testing::IsSupersetOf({"tcp_handshake", "tls_handshake", "quic_handshake", "query"}));
  EXPECT_GT(lost, 0u) << "packets that never arrived are told apart";
  EXPECT_EQ(whole, all.get_array().size()) << "every answer could be read with the secrets inside";
}

TEST(Explain, CommandLineMakesASampleOnceMore) {
  const test::TemporaryFolder folder;
  const auto run = test::run_program(
      test::doxlab({"explain", "--sample", "DoQ/0", "--loss", "0", "--group", "X25519", "--json", folder.file("one.json")}), 60s);
  ASSERT_EQ(run.status, 0) << run;
  EXPECT_THAT(run.output, testing::HasSubstr("3 round trips: quic handshake, amplification limit, query"));
  const auto json = test::parse_json(folder.read("one.json"));
  EXPECT_EQ(test::text(json, "what"), "DoQ/0");
  EXPECT_GT(test::number(json["stall"], "shortfall"), 0);
}

}  // namespace
}  // namespace doxlab
