// Every lookup of a run is taken apart, and the run says so: causes sum to times, owners to bytes, and what was published
// comes out by itself.

#include <gmock/gmock.h>

#include <cmath>

#include "experiment/loss.hpp"
#include "experiment/packets.hpp"
#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;

experiment::Setup published() {
  experiment::Setup out;
  experiment::set_as_published(out);
  return out;
}

double sum(const std::map<std::string, double>& causes) {
  double out = 0;
  for (const auto& [cause, ms] : causes) out += ms;
  return out;
}

TEST(Accounting, EveryLookupUnderLossSumsUp) {
  auto setup = published();
  setup.link.loss_probability = 0.05;
  constexpr std::size_t kEach = 60;
  const auto run = run_loss(setup, kEach, std::nullopt, {}, "", {}, {});
  std::size_t samples = 0, unexplained = 0;
  for (const auto& sample : run.samples) {
    ++samples;
    EXPECT_NEAR(sum(sample.causes_ms), sample.ms.value_or(0), 1e-6) << sample.transport << "/" << sample.sample;
    if (!sample.disturbed) unexplained += sample.causes_ms.contains("unexplained");
  }
  EXPECT_EQ(samples, 8 * kEach);
  for (const auto& [name, summary] : run.results) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(summary.accounting);
    const auto& accounting = *summary.accounting;
    EXPECT_EQ(accounting.lookups, summary.n + summary.timeouts);
    EXPECT_EQ(accounting.answered, summary.n);
    double mean = 0;
    for (const auto& [cause, total] : accounting.causes) {
      mean += total.mean_ms;
      EXPECT_GE(total.max_ms * static_cast<double>(total.lookups) + 1e-6, total.mean_ms * static_cast<double>(accounting.answered));
    }
    EXPECT_NEAR(mean, summary.mean.value_or(0), 1e-6);
    for (const auto& one : accounting.unexplained) {
      const auto found = std::ranges::find_if(
          run.samples, [&](const auto& s) { return s.transport == name && s.sample == one.sample; });
      ASSERT_NE(found, run.samples.end());
      EXPECT_NEAR(found->causes_ms.at("unexplained"), one.ms, 1e-9);
      --unexplained;
    }
    ASSERT_TRUE(accounting.median && accounting.slowest);
    EXPECT_NEAR(*accounting.median->ms, summary.p50.value_or(0), 0.1 * summary.p50.value_or(0));
    if (summary.timeouts > 0) EXPECT_FALSE(accounting.slowest->ms);
    else EXPECT_EQ(accounting.slowest->ms, summary.max);
    EXPECT_THAT(accounting.findings, Not(Contains(Key("no_session_ticket"))));
  }
  // A machine that stands still for longer than any computing takes may leave one or two.
  EXPECT_LE(unexplained, 2u) << "each is listed";

  const auto& slowest = *run.results.at("dot").accounting->slowest;
  ASSERT_TRUE(slowest.ms);
  double syn = 0;
  for (const auto& span : slowest.spans)
    if (span.cause == "syn_retransmission" || span.cause == "syn_ack_retransmission") syn += span.ms;
  EXPECT_GE(syn, 900) << "the slowest DoT waited a second or more for its SYN, whatever else it met";
  const auto& doh3 = *run.results.at("doh3").accounting;
  EXPECT_GE(doh3.findings.at("retry_round_trip").lookups + 3, doh3.answered) << "DoH3 as published pays for a Retry";
}

TEST(Accounting, EveryByteOfACleanRunHasAnOwner) {
  const auto run = run_packets(published(), 3, "", {}, {});
  for (const auto& [name, summary] : run.results) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(summary.accounting);
    EXPECT_THAT(summary.accounting->ledger, Not(Contains(Key("other"))));
    double bytes = 0;
    for (const auto& sample : summary.raw) {
      results::OwnedBytes all;
      for (const auto& [owner, owned] : sample.ledger) {
        all.c2s += owned.c2s;
        all.s2c += owned.s2c;
        all.after_c2s += owned.after_c2s + owned.after_s2c;
      }
      EXPECT_EQ(all.c2s, sample.bytes_c2s);
      EXPECT_EQ(all.s2c, sample.bytes_s2c);
      EXPECT_EQ(all.after_c2s, sample.bytes_after);
      EXPECT_NEAR(sum(sample.causes_ms), sample.ms.value_or(0), 1e-6);
      if (!sample.disturbed) bytes += static_cast<double>(all.c2s + all.s2c);
    }
    double means = 0;
    for (const auto& [owner, mean] : summary.accounting->ledger) means += mean.c2s + mean.s2c;
    EXPECT_NEAR(means * static_cast<double>(summary.accounting->lookups), bytes, 1e-6);
  }
  EXPECT_THAT(run.results.at("doh3").accounting->findings, Contains(Key("retry_round_trip")));
  EXPECT_THAT(run.results.at("doq").accounting->findings, IsEmpty());
}

TEST(Accounting, ClassicalDoqMeetsTheAmplificationLimit) {
  auto setup = published();
  setup.client_groups = "X25519";
  setup.transports = {Transport::Doq};
  const auto run = run_packets(setup, 3, "", {}, {});
  const auto& accounting = *run.results.at("doq").accounting;
  EXPECT_THAT(accounting.findings, Contains(Key("amplification_stall")));
  EXPECT_THAT(accounting.causes, Contains(Key("amplification_limit")));
  ASSERT_TRUE(accounting.stall);
  EXPECT_GT(accounting.stall->shortfall, 0u);
  EXPECT_EQ(accounting.stall->flight, accounting.stall->budget + accounting.stall->shortfall);
}

TEST(Accounting, TerminalAndSamplesFileHaveIt) {
  const test::TemporaryFolder folder;
  const auto finished = test::run_program(
      test::doxlab({"loss", "--as-published", "--only", "doh3,dot", "-n", "12", "--samples", folder.file("samples.ndjson"), "--json",
                    folder.file("out.json")}), 120s);
  ASSERT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.output, HasSubstr("Where the time goes"));
  EXPECT_THAT(finished.output, HasSubstr("* DoH3: a Retry cost a round trip in 12 of 12 lookups (explain --sample doh3/0)"));
  const auto samples = folder.read("samples.ndjson");
  const auto line = test::parse_json(samples.substr(0, samples.find('\n')));
  EXPECT_TRUE(line["causes_ms"].contains("query"));
  const auto run = test::parse_json(folder.read("out.json"));
  EXPECT_EQ(test::number(run["results"]["doh3"]["accounting"], "lookups"), 12);
  const auto clean = test::run_program(test::doxlab({"packets", "--only", "doq", "-n", "1"}));
  EXPECT_THAT(clean.output, HasSubstr("Where the bytes go"));
}

}  // namespace
}  // namespace doxlab
