// `doxlab dropmap` as a user runs it.
#include <gmock/gmock.h>

#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
using testing::StartsWith;

test::Json run_dropmap(std::vector<std::string> arguments) {
  const test::TemporaryFolder folder;
  arguments.insert(arguments.begin(), {"dropmap", "--json", folder.file("out.json")});
  const auto finished = test::run_program(test::doxlab(arguments), 240s);
  EXPECT_EQ(finished.status, 0) << finished;
  return test::parse_json(folder.read("out.json"));
}

const test::Json& packet_of(const test::Json& row) {
  return row["packets"].get_array().front();
}
bool is_undisturbed(const test::Json& row) {
  return test::number(row, "disturbed") < test::number(row, "lookups") + test::number(row, "disturbed");
}

/// The row of a packet that carried `text`.
const test::Json* row_with(const test::Json& result, const std::string& text) {
  for (const auto& row : result["rows"].get_array())
    if (test::text(packet_of(row), "carried").contains(text)) return &row;
  return nullptr;
}

/// One row for each packet of the reference, and each says what it was.
void expect_rows_of_reference(const test::Json& result) {
  double to_server = 0, to_client = 0;
  for (const auto& row : result["rows"].get_array()) {
    const auto& packet = packet_of(row);
    EXPECT_FALSE(test::text(packet, "carried").empty());
    EXPECT_THAT(test::number(packet, "ip_bytes"), AllOf(Ge(28), Le(1500)));
    if (row["after_answer"].get<bool>()) continue;
    ++(test::text(packet, "direction") == "c2s" ? to_server : to_client);
  }
  EXPECT_EQ(to_server, test::number(result["reference"], "pkts_c2s"));
  EXPECT_EQ(to_client, test::number(result["reference"], "pkts_s2c"));
}

TEST(Dropmap, LostSynCostsASecondAndAServersFlightIsRecovered) {
  const auto run = run_dropmap({"--only", "dot,do53", "-n", "3"});
  const auto& dot = run["results"]["dot"];
  expect_rows_of_reference(dot);
  const auto& syn = dot["rows"].get_array().front();
  EXPECT_EQ(test::text(packet_of(syn), "carried"), "SYN");
  EXPECT_THAT(test::number(syn, "lost_ms"), AllOf(Ge(990), Le(1100)));
  const auto* hello = row_with(dot, "ServerHello");
  ASSERT_NE(hello, nullptr);
  EXPECT_EQ(test::text(*hello, "outcome"), "answered");
  EXPECT_EQ(test::number(*hello, "no_answer"), 0);
  EXPECT_THAT(test::text(*hello, "recovery"), HasSubstr("again"));
  EXPECT_GE(test::number(*hello, "lost_ms"), 30);

  const auto& do53 = run["results"]["do53"];
  expect_rows_of_reference(do53);
  ASSERT_EQ(do53["rows"].get_array().size(), 2u);
  for (const auto& row : do53["rows"].get_array()) {
    EXPECT_EQ(test::number(row, "no_answer"), test::number(row, "lookups"));
    EXPECT_EQ(test::text(row, "outcome"), "timed out");
  }
  EXPECT_NEAR(test::number(do53["expected"], "not_explained"), 0, 1e-9);
  EXPECT_NEAR(test::number(do53["expected"], "no_answer"), 1 - 0.98 * 0.98, 1e-9);
}

TEST(Dropmap, PostQuantumQuicLookupIsRecoveredWhateverIsLost) {
  const auto run = run_dropmap({"--only", "doq", "--group", "X25519MLKEM768", "-n", "3"});
  const auto& doq = run["results"]["doq"];
  expect_rows_of_reference(doq);
  // The ClientHello takes two datagrams, and the server's chain several.
  EXPECT_GE(test::number(doq["reference"], "pkts_c2s"), 3);
  EXPECT_GE(test::number(doq["reference"], "pkts_s2c"), 5);
  const auto& rows = doq["rows"].get_array();
  EXPECT_THAT(test::text(packet_of(rows[0]), "carried"), HasSubstr("ClientHello"));
  for (const auto& row : rows) {
    EXPECT_EQ(test::number(row, "no_answer"), 0) << test::text(packet_of(row), "carried");
    if (!is_undisturbed(row) || test::number(row, "not_sent") > 0) continue;
    EXPECT_THAT(test::number(row, "lost_ms"), AllOf(Ge(-20), Le(1500))) << test::text(packet_of(row), "carried");
  }
  ASSERT_NE(row_with(doq, "ServerHello"), nullptr);
  EXPECT_GE(test::number(*row_with(doq, "ServerHello"), "lost_ms"), 30);
}

TEST(Dropmap, DoubledAndDelayedPacketsAreRowsToo) {
  for (const auto& event : {std::vector<std::string>{"--dup"}, {"--delay-one", "30"}, {"--flip"}}) {
    auto arguments = event;
    arguments.insert(arguments.end(), {"--only", "do53-tcp", "-n", "1"});
    const auto run = run_dropmap(arguments);
    const auto& result = run["results"]["do53-tcp"];
    expect_rows_of_reference(result);
    EXPECT_FALSE(result.contains("expected") && !result["expected"].is_null());
    const double lost = test::number(result["rows"].get_array().front(), "lost_ms");
    const auto expected = event[0] == "--dup"         ? std::pair(-20, 20)
                          : event[0] == "--delay-one" ? std::pair(28, 60)
                                                      : std::pair(990, 1100);  // the kernel discards what was damaged
    EXPECT_THAT(lost, AllOf(Ge(expected.first), Le(expected.second))) << event[0];
  }
}

TEST(Dropmap, PredictsWhatRandomLossesCost) {
  const auto run = run_dropmap({"--only", "do53-tcp", "--pairs", "-n", "3", "--loss", "2", "--measure", "2000"});
  const auto& result = run["results"]["do53-tcp"];
  EXPECT_GT(result["pairs"].get_array().size(), 10u);
  const auto& expected = result["expected"];
  EXPECT_LT(test::number(expected, "not_explained"), 0.005);
  // The draws of the losses are always the same; times differ with the machine.
  std::size_t compared = 0;
  for (const auto& quantile : expected["quantiles"].get_array()) {
    for (const auto& measured : result["measured"]["quantiles"].get_array()) {
      if (test::number(measured, "p") != test::number(quantile, "p")) continue;
      const double ms = test::number(measured, "ms");
      const double slack = 30 + 0.05 * ms;
      EXPECT_GE(ms, test::number(quantile, "low_ms") - slack) << test::number(quantile, "p");
      EXPECT_LE(ms, test::number(quantile, "high_ms") + slack) << test::number(quantile, "p");
      ++compared;
    }
  }
  EXPECT_EQ(compared, 4u);
}

TEST(Dropmap, ComparesWithRunsOfTheSameSettingsOnly) {
  const test::TemporaryFolder folder;
  const auto loss = test::run_program(
      test::doxlab({"loss", "--only", "do53-tcp", "-n", "50", "--loss", "5", "--json", folder.file("loss.json")}), 120s);
  ASSERT_EQ(loss.status, 0) << loss;
  const auto same = run_dropmap({"--only", "do53-tcp", "-n", "1", "--compare", folder.file("loss.json")});
  EXPECT_NEAR(test::number(same["results"]["do53-tcp"]["expected"], "loss_percent"), 5, 1e-9);
  EXPECT_EQ(test::number(same["results"]["do53-tcp"]["measured"], "n") +
                test::number(same["results"]["do53-tcp"]["measured"], "timeouts") +
                test::number(same["results"]["do53-tcp"]["measured"], "disturbed"),
            50);
  const auto other = test::run_program(test::doxlab({"dropmap", "--only", "do53-tcp", "-n", "1", "--delay", "30",
                                                     "--compare", folder.file("loss.json")}),
                                       120s);
  EXPECT_EQ(other.status, 2) << other;
  EXPECT_THAT(other.errors, HasSubstr("other settings"));
}

TEST(Dropmap, WrongUseIsSaidBeforeAnythingIsMeasured) {
  for (const auto& arguments : {std::vector<std::string>{"--flip", "--dup"}, {"--burst", "1,30"}, {"--reorder", "1"}, {"--flip", "--measure", "5"}}) {
    auto all = arguments;
    all.insert(all.begin(), "dropmap");
    const auto finished = test::run_program(test::doxlab(all), 60s);
    EXPECT_EQ(finished.status, 2) << finished;
    EXPECT_THAT(finished.errors, StartsWith("doxlab: --"));
  }
}

}  // namespace
}  // namespace doxlab
