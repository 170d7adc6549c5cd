// `doxlab repro` as a user runs it: a server with the fault, servers without.

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <ranges>

#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/running.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int kNotAffected = 0, kUsage = 2, kAffected = 3, kNotDecided = 4, kInterrupted = 130;

struct Reproduced {
  test::Finished finished;
  test::Json run;
};

Reproduced reproduce(const test::TemporaryFolder& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "repro");
  arguments.insert(arguments.end(), {"--json", folder.file("out.json"), "--capture", folder.file("out.pcapng")});
  auto finished = test::run_program(test::doxlab(arguments), 280s);
  auto run = test::parse_json(folder.read("out.json"));
  return {std::move(finished), std::move(run)};
}

double sum(const test::Json& rows, const std::string& name) {
  double out = 0;
  for (const auto& row : rows.get_array()) out += test::number(row, name);
  return out;
}

void expect_whole_table(const test::Json& run, double repetitions) {
  const auto& cells = run["cells"].get_array();
  EXPECT_EQ(cells.size(), 3u * 4 * 2) << "chains, losses, key exchanges";
  for (const auto& cell : cells) {
    EXPECT_LE(test::number(cell, "handshakes"), repetitions);
    EXPECT_LE(test::number(cell, "failed"), test::number(cell, "handshakes"));
    EXPECT_LE(test::number(cell, "with_fault"), test::number(cell, "failed"));
    EXPECT_LE(test::number(cell, "failed_low"), test::number(cell, "failed_high"));
  }
  EXPECT_EQ(std::ranges::count_if(cells, [](const auto& cell) { return cell.contains("published_failed"); }), 8);
}

TEST(Repro, StandInIsAffectedAndTheLossThatDoesItIsFound) {
  const test::TemporaryFolder folder;
  const auto [finished, run] = reproduce(folder, {"nginx-1616", "--subject", "standin-lost-initial", "-n", "3", "--timeout", "2"});
  EXPECT_EQ(finished.status, kAffected) << finished;
  EXPECT_EQ(test::text(run, "verdict"), "affected");
  EXPECT_TRUE(run["complete"].get<bool>());
  expect_whole_table(run, 3);
  EXPECT_GT(sum(run["scripted"], "attempts"), 0);
  EXPECT_EQ(sum(run["scripted"], "with_fault"), sum(run["scripted"], "attempts"));

  const auto& loss = run["every_time"];
  EXPECT_GE(test::number(loss, "attempts"), 3);
  EXPECT_EQ(test::number(loss, "failed"), test::number(loss, "attempts"));
  ASSERT_EQ(loss["packets"].get_array().size(), 1u);
  EXPECT_THAT(loss["packets"].get_array().front().get<std::string>(), AllOf(HasSubstr("server packet"), HasSubstr("ServerHello")));
  EXPECT_THAT(test::text(loss, "finding"), HasSubstr("octets of Initial CRYPTO data and never sent them again"));

  EXPECT_THAT(finished.output, AllOf(HasSubstr("The first lookup that failed:"), HasSubstr("dropped by script"),
                                     HasSubstr("To make it happen every time, lose server packet"), HasSubstr("Verdict: affected")));
  EXPECT_THAT(test::text(run["first_failure"], "outcome"), HasSubstr("timed out"));
  // The command that is printed does it.
  const auto again = test::text(run, "every_time_command");
  EXPECT_THAT(again, AllOf(HasSubstr("--drop s2c/"), HasSubstr("--subject standin-lost-initial"), HasSubstr("--timeout 2")));
  EXPECT_THAT(finished.output, HasSubstr(again));
  std::vector<std::string> words;
  for (const auto word : std::views::split(again, ' ') | std::views::drop(1)) words.emplace_back(std::string_view(word));
  const auto shown = test::run_program(test::doxlab(words));
  EXPECT_THAT(shown.output, AllOf(HasSubstr("timed out"), HasSubstr("dropped by script"), HasSubstr("never sent them again"))) << shown;
  // Its packets are those of the file.
  const auto explained = test::run_program(test::doxlab({"explain", folder.file("out.pcapng")}));
  EXPECT_EQ(explained.status, 0) << explained;
  EXPECT_THAT(explained.output, AllOf(HasSubstr("ServerHello"), HasSubstr("lost")));
}

TEST(Repro, NginxOfDebianIsNotAffected) {
  const test::TemporaryFolder folder;
  const auto [finished, run] = reproduce(folder, {"nginx-1616", "-n", "50"});
  EXPECT_EQ(finished.status, kNotAffected) << finished;
  EXPECT_EQ(test::text(run, "verdict"), "not affected");
  EXPECT_EQ(test::text(run["endpoints"], "subject"), "nginx");
  expect_whole_table(run, 50);
  EXPECT_EQ(sum(run["cells"], "with_fault"), 0);
  EXPECT_EQ(sum(run["scripted"], "failed"), 0);
  EXPECT_GE(run["scripted"].get_array().size(), 2u) << "both parts of a ServerHello";
  EXPECT_FALSE(run.contains("first_failure"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("out.pcapng")));
}

TEST(Repro, FewHandshakesOfTheBuiltInResolverDecideNothingAndSayHowManyWould) {
  const test::TemporaryFolder folder;
  const auto [finished, run] = reproduce(folder, {"nginx-1616", "--subject", "builtin", "-n", "2"});
  EXPECT_EQ(finished.status, kNotDecided) << finished;
  EXPECT_EQ(test::text(run, "verdict"), "not decided");
  EXPECT_EQ(sum(run["scripted"], "failed"), 0);
  EXPECT_GE(test::number(run, "handshakes_needed"), 20);
  EXPECT_LE(test::number(run, "handshakes_needed"), 50);
  EXPECT_THAT(finished.output, HasSubstr("To decide, try again with -n "));
}

TEST(Repro, InterruptedKeepsWhatWasMeasured) {
  const test::TemporaryFolder folder;
  test::Running run(test::doxlab({"repro", "nginx-1616", "--subject", "builtin", "-n", "400", "--json", folder.file("out.json")}),
                    folder.file("log"));
  ASSERT_TRUE(test::is_in_the_middle(run)) << folder.read("log");
  run.kill(SIGINT);
  EXPECT_EQ(run.wait(test::kProgramLimit), kInterrupted) << folder.read("log");
  const auto json = test::parse_json(folder.read("out.json"));
  EXPECT_FALSE(json["complete"].get<bool>());
  EXPECT_GT(sum(json["scripted"], "attempts"), 0);
  EXPECT_EQ(json["cells"].get_array().size(), 1u);
  EXPECT_THAT(folder.read("log"), AllOf(HasSubstr("INTERRUPTED"), HasSubstr("Verdict: not decided")));
}

TEST(ReproFind, FindsTheLossThatEndsALookupOfTheStandIn) {
  const test::TemporaryFolder folder;
  const auto [finished, run] =
      reproduce(folder, {"--find", "--pairs", "--subject", "standin-lost-initial", "--only", "doq", "--timeout", "3"});
  EXPECT_EQ(finished.status, kAffected) << finished;
  ASSERT_TRUE(run.contains("every_time"));
  EXPECT_THAT(run["every_time"]["packets"].get_array().front().get<std::string>(), HasSubstr("ServerHello"));
  EXPECT_EQ(test::text(run["every_time"], "transport"), "doq");
  // Every pair with that packet is fatal too, and not told again.
  std::size_t singles = 0;
  for (const auto& loss : run["scripted"].get_array()) singles += loss["packets"].get_array().size() == 1;
  EXPECT_EQ(singles, 1u);
  EXPECT_TRUE(std::filesystem::exists(folder.file("out.pcapng")));
}

TEST(ReproFind, KnotRecoversFromEveryLoss) {
  const test::TemporaryFolder folder;
  const auto [finished, run] = reproduce(folder, {"--find", "--subject", "knot", "--only", "doq"});
  EXPECT_EQ(finished.status, kNotAffected) << finished;
  EXPECT_THAT(run["scripted"].get_array(), IsEmpty());
  EXPECT_THAT(test::text(run, "reason"), HasSubstr("chosen losses ends a lookup"));
}

TEST(Repro, WrongUseIsSaidBeforeAnythingIsMeasured) {
  for (const auto& arguments : {std::vector<std::string>{},
                                {"nginx-1616", "--find"},
                                {"nginx-1616", "--pairs"},
                                {"nginx-1616", "--loss", "3"},
                                {"nginx-1616", "--subject", "knot"},
                                {"--find", "-n", "3"},
                                {"nginx-9999"}}) {
    auto all = arguments;
    all.insert(all.begin(), "repro");
    const auto finished = test::run_program(test::doxlab(all), 60s);
    EXPECT_EQ(finished.status, kUsage) << finished;
    EXPECT_THAT(finished.output, IsEmpty());
    EXPECT_THAT(finished.errors, Not(IsEmpty()));
  }
}

}  // namespace
}  // namespace doxlab
