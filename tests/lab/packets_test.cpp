// `doxlab packets` as a user runs it: exit code, round trips, times, and the JSON by the names of its fields.

#include <gmock/gmock.h>

#include <algorithm>
#include <format>
#include <map>

#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using RoundTrips = std::map<std::string, double>;

constexpr double kRoundTripMs = 40;

/// Runs the program with `arguments` and gives its results; the exit code must be 0.
test::Json run_packets(std::vector<std::string> arguments) {
  const test::TemporaryFolder folder;
  arguments.insert(arguments.begin(), {"packets", "-n", "3", "--json", folder.file("out.json")});
  const auto finished = test::run_program(test::doxlab(arguments), 120s);
  EXPECT_EQ(finished.status, 0) << finished;
  return test::parse_json(folder.read("out.json"));
}

std::vector<double> raw_numbers(const test::Json& result, const std::string& name) {
  std::vector<double> out;
  for (const auto& sample : result["raw"].get_array()) out.push_back(test::number(sample, name));
  return out;
}

/// Each sample of each transport took exactly these round trips. Its time is theirs, plus computing, plus
/// what the link was late; a busy machine adds to both, so only their sum is bounded here.
void expect_round_trips(const test::Json& run, const RoundTrips& expected) {
  for (const auto& [transport, trips] : expected) {
    SCOPED_TRACE(transport);
    ASSERT_TRUE(run["results"].contains(transport));
    const auto& result = run["results"][transport];
    ASSERT_EQ(test::number(result, "samples"), 3);
    EXPECT_EQ(test::number(result, "no_answer"), 0);
    EXPECT_THAT(raw_numbers(result, "round_trips"), Each(trips));
    EXPECT_EQ(test::number(result, "round_trips"), trips);
    EXPECT_THAT(raw_numbers(result, "ms"), Each(testing::Ge(trips * kRoundTripMs)));
    const double latest_ms = 2 * trips * test::number(run["precision"], "max_us") / 1000;
    for (const auto& sample : result["raw"].get_array()) {
      const double on_the_link = test::number(sample, "ms") - test::number(sample, "compute_ms");
      EXPECT_GE(on_the_link, trips * kRoundTripMs - 0.001);
      EXPECT_LE(on_the_link, trips * kRoundTripMs + latest_ms + 0.001);
    }
    EXPECT_NEAR(test::number(result, "rtt_est"), test::number(result, "ms") / kRoundTripMs, 1e-6);
  }
}

TEST(Packets, AsPublishedTakesTheRoundTripsOfTheProtocols) {
  const auto run = run_packets({"--as-published"});
  expect_round_trips(run, {{"do53", 1},
                           {"do53-tcp", 2},
                           {"dnscrypt", 2},
                           {"dnscrypt-tcp", 3},
                           {"dot", 3},
                           {"doh", 3},
                           {"doq", 2},
                           {"doh3", 3}});
  for (const auto& sample : run["results"]["doh3"]["raw"].get_array())
    EXPECT_TRUE(sample["retry"].get<bool>());
  for (const auto& sample : run["results"]["doq"]["raw"].get_array())
    EXPECT_FALSE(sample["retry"].get<bool>());
}

TEST(Packets, QuickestLookupTakesLittleMoreThanItsRoundTrips) {
  // On a machine that does other things too, some run of many has a quiet moment for each transport.
  std::map<std::string, double> excess_ms;
  bool all_quick = false;
  for (int attempt = 0; attempt < 20 && !all_quick; ++attempt) {
    const auto run = run_packets({});
    all_quick = true;
    for (const auto& [transport, result] : run["results"].get_object()) {
      const double excess =
          test::number(result, "ms_min") - test::number(result, "round_trips") * kRoundTripMs;
      auto& least = excess_ms.try_emplace(transport, excess).first->second;
      least = std::min(least, excess);
      all_quick = all_quick && least < 20;
    }
  }
  for (const auto& [transport, least] : excess_ms) EXPECT_LT(least, 20) << transport;
}

TEST(Packets, JsonHasTheNamesThatReadersLookFor) {
  const auto run = run_packets({"--as-published"});
  EXPECT_THAT(test::missing(run, {"schema_version", "experiment", "command_line", "started", "duration_s",
                                  "complete", "environment", "link", "endpoints", "precision", "results"}),
              IsEmpty());
  EXPECT_EQ(test::text(run, "experiment"), "packets");
  EXPECT_TRUE(test::text(run, "command_line").starts_with("doxlab packets -n 3 --json "))
      << test::text(run, "command_line");
  EXPECT_TRUE(test::text(run, "command_line").ends_with(" --as-published"))
      << test::text(run, "command_line");
  EXPECT_TRUE(run["complete"].get<bool>());
  EXPECT_THAT(test::text(run, "started"),
              testing::MatchesRegex("20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-9:]+Z"));

  EXPECT_THAT(test::missing(run["environment"],
                            {"doxlab_version", "kernel", "architecture", "cpu", "cores", "memory_bytes",
                             "openssl", "ngtcp2", "nghttp3", "nghttp2", "kernel_settings"}),
              IsEmpty());
  EXPECT_EQ(test::text(run["environment"], "doxlab_version"), DOXLAB_VERSION);
  EXPECT_EQ(test::text(run["environment"]["kernel_settings"], "tcp_syn_linear_timeouts"), "0");

  EXPECT_EQ(test::number(run["link"], "one_way_delay_ms"), 20);
  EXPECT_EQ(test::number(run["link"], "round_trip_ms"), kRoundTripMs);
  EXPECT_EQ(test::number(run["link"], "loss_percent"), 0);
  EXPECT_EQ(test::text(run["endpoints"], "doh3_retry"), "always");
  EXPECT_EQ(test::text(run["endpoints"], "doq_retry"), "off");
  EXPECT_EQ(test::number(run["endpoints"], "chain_bytes"), 3900);
  EXPECT_TRUE(run["endpoints"]["certificate_verified"].get<bool>());

  const auto& precision = run["precision"];
  EXPECT_GT(test::number(precision, "packets"), 200);
  EXPECT_LE(test::number(precision, "p50_us"), test::number(precision, "p99_us"));
  EXPECT_LE(test::number(precision, "p99_us"), test::number(precision, "max_us"));
  EXPECT_EQ(precision["within_1_ms"].get<bool>(), test::number(precision, "p99_us") <= 1000);
}

TEST(Packets, JsonOfEachTransportAddsUp) {
  const auto run = run_packets({"--as-published"});
  for (const auto& [transport, result] : run["results"].get_object()) {
    SCOPED_TRACE(transport);
    EXPECT_THAT(test::missing(
                    result, {"transport", "samples", "ms", "rtt_est", "round_trips", "compute_ms", "pkts_c2s",
                             "pkts_s2c", "bytes_c2s", "bytes_s2c", "bytes_total", "flights", "raw"}),
                IsEmpty());
    EXPECT_EQ(test::number(result, "bytes_total"),
              test::number(result, "bytes_c2s") + test::number(result, "bytes_s2c"));
    const auto& raw = result["raw"].get_array();
    ASSERT_EQ(raw.size(), 3u);
    for (const auto& sample : raw) {
      EXPECT_THAT(test::missing(
                      sample, {"sample", "outcome", "ms", "round_trips", "compute_ms", "pkts_c2s", "pkts_s2c",
                               "bytes_c2s", "bytes_s2c", "flights", "pkts_after", "bytes_after"}),
                  IsEmpty());
      EXPECT_EQ(test::text(sample, "outcome"), "answered");
      EXPECT_EQ(test::number(sample, "pkts_lost"), 0);
      EXPECT_GE(test::number(sample, "flights"), test::number(sample, "round_trips"));
      // No packet is smaller than its headers or larger than the MTU.
      for (const std::string way : {"c2s", "s2c"}) {
        EXPECT_GE(test::number(sample, "bytes_" + way), 28 * test::number(sample, "pkts_" + way));
        EXPECT_LE(test::number(sample, "bytes_" + way), 1500 * test::number(sample, "pkts_" + way));
      }
      // What is not computing or waiting at an end was spent on the link.
      EXPECT_LE(test::number(sample, "compute_ms"),
                test::number(sample, "ms") - test::number(sample, "round_trips") * kRoundTripMs + 0.001);
      EXPECT_GE(test::number(sample, "compute_ms"), 0);
    }
  }
  // Everything about these two is known: 40 octets of query with its OPT, 16 more of answer, IP and UDP
  // headers.
  const auto& do53 = run["results"]["do53"];
  EXPECT_EQ(test::number(do53, "pkts_c2s"), 1);
  EXPECT_EQ(test::number(do53, "pkts_s2c"), 1);
  EXPECT_EQ(test::number(do53, "bytes_c2s"), 20 + 8 + 40);
  EXPECT_EQ(test::number(do53, "bytes_s2c"), 20 + 8 + 56);
  EXPECT_EQ(test::number(run["results"]["do53-tcp"], "pkts_c2s"), 3);
  EXPECT_EQ(test::number(run["results"]["do53-tcp"], "pkts_s2c"), 3);
}

TEST(Packets, WithoutRetryBothQuicTransportsTakeTwo) {
  expect_round_trips(run_packets({"--only", "doq,doh3"}), {{"doq", 2}, {"doh3", 2}});
}

TEST(Packets, RetryCostsEachQuicTransportOne) {
  expect_round_trips(run_packets({"--only", "doq,doh3", "--retry", "always"}), {{"doq", 3}, {"doh3", 3}});
}

TEST(Packets, ChainBeyondThreeTimesOneDatagramCostsDoqOne) {
  expect_round_trips(run_packets({"--only", "doq", "--group", "X25519"}), {{"doq", 3}});
}

TEST(Packets, ShortChainFitsThreeTimesOneDatagram) {
  expect_round_trips(run_packets({"--only", "doq", "--group", "X25519", "--chain-bytes", "1200"}),
                     {{"doq", 2}});
}

TEST(Packets, Ipv6TakesTheSameRoundTripsAndLongerHeaders) {
  const auto run = run_packets({"--ipv6"});
  expect_round_trips(run, {{"do53", 1},
                           {"do53-tcp", 2},
                           {"dnscrypt", 2},
                           {"dnscrypt-tcp", 3},
                           {"dot", 3},
                           {"doh", 3},
                           {"doq", 2},
                           {"doh3", 2}});
  EXPECT_EQ(test::text(run["endpoints"], "family"), "ipv6");
  EXPECT_EQ(test::number(run["results"]["do53"], "bytes_c2s"), 40 + 8 + 40);
}

TEST(Packets, RsaChainTakesTheSameRoundTrips) {
  const auto run = run_packets({"--only", "dot,doq", "--chain-key", "rsa"});
  expect_round_trips(run, {{"dot", 3}, {"doq", 2}});
  EXPECT_EQ(test::text(run["endpoints"], "chain_key"), "rsa-2048");
}

TEST(Packets, HelloRetryRequestCostsOneOnEveryTransportWithTls) {
  const auto run = run_packets(
      {"--only", "dot,doh,doq,doh3", "--group", "*X25519MLKEM768:secp256r1", "--server-group", "secp256r1"});
  // Each ClientHello fills a datagram or more, so that the chain fits three times what the client has sent.
  expect_round_trips(run, {{"dot", 4}, {"doh", 4}, {"doq", 3}, {"doh3", 3}});
  for (const auto& [transport, result] : run["results"].get_object())
    for (const auto& sample : result["raw"].get_array()) {
      EXPECT_TRUE(sample["hello_retry_request"].get<bool>()) << transport;
      EXPECT_EQ(test::text(sample, "group"), "secp256r1") << transport;
    }
}

TEST(Packets, AnswersThatAreNoneToTheQuestionAreTold) {
  const auto finished = test::run_program(
      test::doxlab({"packets", "-n", "2", "--only", "DoT,Do53/TCP", "--qname", "elsewhere.invalid"}), 60s);
  EXPECT_EQ(finished.status, 0) << finished;
  for (const char* transport : {"DoT", "Do53/TCP"})
    EXPECT_THAT(finished.output, HasSubstr(std::format("NOTE: {}: 2 of 2 answers have the RCODE REFUSED", transport)));
}

TEST(Packets, DohByGetTakesTheSameRoundTrips) {
  expect_round_trips(run_packets({"--only", "doh,doh3", "--method", "get"}), {{"doh", 3}, {"doh3", 2}});
}

TEST(Packets, JsonOnStandardOutputIsAlone) {
  const auto finished =
      test::run_program(test::doxlab({"packets", "-n", "1", "--only", "do53", "--json", "-"}));
  ASSERT_EQ(finished.status, 0) << finished;
  EXPECT_EQ(test::number(test::parse_json(finished.output)["results"]["do53"], "round_trips"), 1);
  EXPECT_THAT(finished.errors, testing::HasSubstr("Do53"));
}

TEST(Packets, TransportWithoutAnyAnswerIsExitCode1AndSaysWhy) {
  const test::TemporaryFolder folder;
  const auto finished =
      test::run_program(test::doxlab({"packets", "-n", "2", "--only", "do53,dot", "--group", "X25519",
                                      "--server-group", "secp256r1", "--json", folder.file("out.json")}));
  EXPECT_EQ(finished.status, 1) << finished;
  EXPECT_THAT(finished.output, testing::HasSubstr("DoT: 2 of 2 without an answer"));
  const auto run = test::parse_json(folder.read("out.json"));
  EXPECT_EQ(test::number(run["results"]["dot"], "no_answer"), 2);
  EXPECT_EQ(test::number(run["results"]["do53"], "samples"), 2);
  EXPECT_FALSE(run["results"]["dot"].contains("ms"));
}

}  // namespace
}  // namespace doxlab
