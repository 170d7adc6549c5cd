// `doxlab report`: what it makes of files that are right, and what it says of those that are not.

#include <gmock/gmock.h>

#include "results/study.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

using testing::HasSubstr;

std::string small_study() {
  results::Study study;
  study.packets.emplace().results["doq"] = {.transport = "DoQ", .samples = 1, .ms = 83, .round_trips = 2};
  return results::to_json(study);
}

class ReportCommand : public testing::Test {
 protected:
  test::Finished report(const std::string& content, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"report", folder_.write("results.json", content)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::run_program(test::doxlab(arguments));
  }
  bool page_is_there() const { return std::filesystem::exists(folder_.file("report.html")); }

  test::TemporaryFolder folder_;
};

TEST_F(ReportCommand, WritesThePageBesideTheResults) {
  const auto finished = report(small_study());
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.output, HasSubstr("file://" + folder_.file("report.html")));
  EXPECT_THAT(folder_.read("report.html"), HasSubstr("<section id=\"transports\""));
}

TEST_F(ReportCommand, WritesThePageToStandardOutputAndNothingElse) {
  const auto finished = report(small_study(), {"-o", "-"});
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_TRUE(finished.output.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(finished.output.ends_with("</html>\n"));
  EXPECT_FALSE(page_is_there());
}

TEST_F(ReportCommand, RefusesATruncatedFile) {
  const auto whole = small_study();
  for (const double part : {0.01, 0.3, 0.9}) {
    const auto finished = report(whole.substr(0, static_cast<std::size_t>(part * static_cast<double>(whole.size()))));
    EXPECT_EQ(finished.status, 1) << finished;
    EXPECT_THAT(finished.errors, HasSubstr("results.json: line "));
    EXPECT_FALSE(page_is_there());
  }
}

TEST_F(ReportCommand, RefusesAFileOfANewerVersion) {
  const auto finished = report(R"({"schema_version": 99, "experiment": "study"})");
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.errors, HasSubstr("written by a newer doxlab (schema 99"));
}

TEST_F(ReportCommand, RefusesOtherResultsAndOtherJson) {
  EXPECT_THAT(report(R"({"schema_version": 1, "experiment": "sweep"})").errors, HasSubstr("\"sweep\"; read are those of suite"));
  EXPECT_THAT(report(R"({"schema_version": 1, "experiment": "study"})").errors, HasSubstr("without an experiment"));
  EXPECT_THAT(report("[]").errors, HasSubstr("line 1"));
  EXPECT_THAT(report("\n").errors, HasSubstr("nothing in it"));
  EXPECT_FALSE(page_is_there());
}

TEST_F(ReportCommand, NeverTakesThePlaceOfItsResults) {
  const auto content = small_study();
  const auto finished = report(content, {"-o", folder_.file("results.json")});
  EXPECT_EQ(finished.status, 2) << finished;
  EXPECT_EQ(folder_.read("results.json"), content);
}

}  // namespace
}  // namespace doxlab
