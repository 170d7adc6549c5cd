// What a lookup starts from, as a variable: round trips of cold, reused, resumed and 0-RTT lookups of every
// transport through the link, counted from packets.

#include <gtest/gtest.h>

#include "experiment/packets.hpp"

namespace doxlab::experiment {
namespace {

using Expected = std::map<std::string, std::uint64_t>;

results::PacketsRun measure(const Setup& setup) { return run_packets(setup, 2, "test", {}, {}); }

void expect_round_trips(const results::PacketsRun& run, const Expected& expected) {
  for (const auto& [transport, trips] : expected) {
    ASSERT_TRUE(run.results.contains(transport)) << transport;
    const auto& summary = run.results.at(transport);
    ASSERT_EQ(summary.raw.size(), 2u) << transport;
    for (const auto& sample : summary.raw) {
      ASSERT_EQ(sample.outcome, "answered") << transport << ": " << sample.reason;
      EXPECT_EQ(sample.round_trips, trips) << transport;
    }
  }
}

TEST(Start, ReusedConnectionsAnswerInOneRoundTrip) {
  experiment::Setup setup;
  setup.start = Start::Reused;
  // A DNSCrypt/TCP connection takes one query: there the certificate is what is reused.
  expect_round_trips(measure(setup), {{"do53", 1}, {"do53-tcp", 1}, {"dnscrypt", 1}, {"dnscrypt-tcp", 2}, {"dot", 1},
                                      {"doh", 1}, {"doh3", 1}, {"doq", 1}});
}

TEST(Start, ResumptionSavesTheCertificateFlightAndNoRoundTrip) {
  experiment::Setup setup;
  setup.transports = {Transport::Dot, Transport::Doh, Transport::Doh3, Transport::Doq};
  const auto cold = measure(setup);
  setup.start = Start::Resumed;
  const auto resumed = measure(setup);
  expect_round_trips(resumed, {{"dot", 3}, {"doh", 3}, {"doh3", 2}, {"doq", 2}});
  for (const auto& [transport, summary] : resumed.results) {
    for (const auto& sample : summary.raw) {
      EXPECT_TRUE(sample.resumed) << transport;
      EXPECT_EQ(sample.early_data, "") << transport;
      // All of the default chain of 3.9 KB but what else differs by a few hundred bytes.
      EXPECT_LT(sample.bytes_s2c + 3000, cold.results.at(transport).raw.front().bytes_s2c) << transport;
    }
  }
}

TEST(Start, ResumptionEndsTheStallOfClassicalQuic) {
  experiment::Setup setup;
  setup.transports = {Transport::Doh3, Transport::Doq};
  setup.client_groups = "*X25519";
  expect_round_trips(measure(setup), {{"doh3", 3}, {"doq", 3}});  // the chain exceeds three times the ClientHello
  setup.start = Start::Resumed;
  expect_round_trips(measure(setup), {{"doh3", 2}, {"doq", 2}});
}

TEST(Start, EarlyDataSavesTheRoundTripOfTheHandshake) {
  experiment::Setup setup;
  setup.start = Start::EarlyData;
  const auto run = measure(setup);
  expect_round_trips(run, {{"dot", 2}, {"doh", 2}, {"doh3", 1}, {"doq", 1}, {"dnscrypt", 1}});
  for (const auto* transport : {"dot", "doh", "doh3", "doq"})
    for (const auto& sample : run.results.at(transport).raw) EXPECT_EQ(sample.early_data, "accepted") << transport;
}

TEST(Start, RejectedEarlyDataCostsItsBytesAndNoMoreThanResumption) {
  experiment::Setup setup;
  setup.transports = {Transport::Dot, Transport::Doh, Transport::Doh3, Transport::Doq};
  setup.start = Start::EarlyData;
  setup.reject_early_data = true;
  const auto run = measure(setup);
  expect_round_trips(run, {{"dot", 3}, {"doh", 3}, {"doh3", 2}, {"doq", 2}});
  for (const auto& [transport, summary] : run.results)
    for (const auto& sample : summary.raw) EXPECT_EQ(sample.early_data, "rejected") << transport;
}

TEST(Start, TokensAvoidTheRetry) {
  experiment::Setup setup;
  setup.transports = {Transport::Doh3, Transport::Doq};
  setup.doh3_retry = setup.doq_retry = quic::RetryPolicy::Always;
  expect_round_trips(measure(setup), {{"doh3", 3}, {"doq", 3}});
  setup.use_token = true;
  const auto run = measure(setup);
  expect_round_trips(run, {{"doh3", 2}, {"doq", 2}});
  for (const auto& [transport, summary] : run.results)
    for (const auto& sample : summary.raw) EXPECT_FALSE(sample.retry) << transport;
  setup.start = Start::EarlyData;
  expect_round_trips(measure(setup), {{"doh3", 1}, {"doq", 1}});
  setup.use_token = false;
  expect_round_trips(measure(setup), {{"doh3", 2}, {"doq", 2}});
}

TEST(Start, FastOpenSavesTheRoundTripOfTcpWhereTheFirstBytesFitTheSyn) {
  experiment::Setup setup;
  setup.fast_open = true;
  setup.transports = {Transport::Do53Tcp, Transport::Dot};
  // A post-quantum ClientHello does not fit the SYN, so that its rest waits for the SYN-ACK.
  expect_round_trips(measure(setup), {{"do53-tcp", 1}, {"dot", 3}});
  setup.client_groups = "*X25519";
  expect_round_trips(measure(setup), {{"do53-tcp", 1}, {"dot", 2}});
}

TEST(Recovery, CopiesOfTheFirstFlightRaiseTheAmplificationLimit) {
  experiment::Setup setup;
  setup.transports = {Transport::Doq};
  setup.client_groups = "*X25519";
  setup.client_quic.first_flight_copies = 2;
  const auto run = measure(setup);
  expect_round_trips(run, {{"doq", 2}});
}

TEST(Recovery, SmallInitialWindowCostsTcpARoundTrip) {
  experiment::Setup setup;
  setup.transports = {Transport::Dot};
  setup.tcp_initial_window = 2;
  expect_round_trips(measure(setup), {{"dot", 4}});
}

TEST(Recovery, WhatTheKernelWasSetToIsInTheResult) {
  experiment::Setup setup;
  setup.transports = {Transport::Do53Tcp};
  EXPECT_EQ(measure(setup).environment.kernel_settings.at("tcp_syn_linear_timeouts"), "0");
  setup.sysctls = {{"tcp_syn_linear_timeouts", "4"}};
  EXPECT_EQ(measure(setup).environment.kernel_settings.at("tcp_syn_linear_timeouts"), "4");
}

}  // namespace
}  // namespace doxlab::experiment
