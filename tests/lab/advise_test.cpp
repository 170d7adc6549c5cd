// `doxlab advise` as a user runs it: the advice is what the changed setup really gained.

#include <gmock/gmock.h>

#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

using testing::HasSubstr;

struct Advised {
  std::string text;
  test::Json run;
  /// The advice with this option.
  const test::Json& at(const std::string& options) const {
    for (const auto& one : run["advice"].get_array())
      if (test::text(one, "options") == options) return one;
    throw std::runtime_error("no advice " + options + " in:\n" + text);
  }
};

Advised advise(std::vector<std::string> arguments) {
  const test::TemporaryFolder folder;
  arguments.insert(arguments.begin(), {"advise", "--json", folder.file("out.json")});
  const auto finished = test::run_program(test::doxlab(arguments), 120s);
  EXPECT_EQ(finished.status, 0) << finished;
  return {finished.output, test::parse_json(folder.read("out.json"))};
}

TEST(Advise, RetryOffGainsExactlyOneRoundTrip) {
  const auto advised = advise({"--only", "doh3", "--retry", "always", "-n", "20", "--timeout", "4"});
  const auto& advice = advised.at("--retry off");
  EXPECT_EQ(test::text(advice, "finding"), "retry_round_trip");
  EXPECT_EQ(test::number(advice["before"], "round_trips"), 3);
  EXPECT_EQ(test::number(advice["after"], "round_trips"), 2);
  EXPECT_EQ(test::number(advice, "round_trips_saved"), 1);
  EXPECT_LT(test::number(advice["after"], "ip_bytes"), test::number(advice["before"], "ip_bytes"));
  EXPECT_TRUE(advice["finding_gone"].get<bool>());
  // Those that a busy machine disturbed are left out.
  for (const auto* which : {"before", "after"}) {
    EXPECT_GT(test::number(advice[which], "lookups_under_loss"), 0);
    EXPECT_LE(test::number(advice[which], "lookups_under_loss"), 20);
  }
  EXPECT_THAT(advised.text, HasSubstr("--retry off (Retry off): gains one round trip"));
}

TEST(Advise, ChainThatDoesNotFitIsShownWaysOutAndHowMuchIsTooMuch) {
  const auto advised = advise({"--only", "doq", "--group", "X25519", "--chain-bytes", "3900", "--loss", "0"});
  const auto& hybrid = advised.at("--group '*X25519MLKEM768:*X25519'");
  const auto shortfall = test::number(hybrid, "shortfall");
  EXPECT_GT(shortfall, 0);
  EXPECT_LT(shortfall, 1232);  // the flight has one datagram too many
  EXPECT_THAT(test::text(hybrid, "sentence"), HasSubstr(std::format("{} bytes short", shortfall)));
  EXPECT_EQ(test::number(advised.run["headroom"].get_array().at(0), "headroom"), -shortfall);
  for (const auto& options : {test::text(hybrid, "options"), std::format("--chain-bytes {}", 3900 - shortfall - 16)}) {
    SCOPED_TRACE(options);
    const auto& advice = advised.at(options);
    EXPECT_EQ(test::text(advice, "finding"), "amplification_stall");
    EXPECT_EQ(test::number(advice, "round_trips_saved"), 1);
    EXPECT_TRUE(advice["finding_gone"].get<bool>());
  }
  // Random filler does not compress, so this gains nothing and says so.
  EXPECT_EQ(test::text(advised.at("--compression zstd"), "verdict"), "nothing");
  EXPECT_THAT(advised.text, HasSubstr("gains nothing that was measured"));
}

TEST(Advise, RetryThatHidAStallGainsNothingByGoing) {
  const auto advised = advise({"--only", "doq", "--retry", "always", "--group", "X25519", "--loss", "0"});
  const auto& advice = advised.at("--retry off");
  EXPECT_EQ(test::number(advice, "round_trips_saved"), 0);
  EXPECT_EQ(test::text(advice, "verdict"), "nothing");
  EXPECT_THAT(advised.text, HasSubstr("in its place there is amplification_stall"));
}

TEST(Advise, SetupWithoutFindingsHasNothingToChange) {
  const auto advised = advise({"--only", "dot,doq", "--loss", "0"});
  EXPECT_TRUE(advised.run["advice"].get_array().empty()) << advised.text;
  EXPECT_THAT(advised.text, HasSubstr("There is nothing to change"));
  for (const auto& one : advised.run["headroom"].get_array()) EXPECT_GT(test::number(one, "headroom"), 0) << advised.text;
}

}  // namespace
}  // namespace doxlab
