#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/check.hpp"
#include "runs.hpp"

namespace doxlab::compare {
namespace {

using testing::HasSubstr;

constexpr double kAnswered[] = {82.1, 82.3, 82.0, 82.4, 82.2, 82.6, 81.9, 82.3, 82.2};

Vocabulary words() { return {.causes = {"retry", "amplification_limit", "query"}, .findings = {"retry_round_trip"}}; }

results::CheckRun checked(const results::Study& study, std::string_view rules) {
  const auto parsed = parse_rules(rules, words());
  EXPECT_TRUE(parsed) << parsed.error().message;
  return check(study, parsed.value_or(std::vector<Rule>{}));
}

results::Study some_study() {
  results::Study out;
  out.packets = packets_run("doq", kAnswered, 2, 5000);
  auto& loss = out.loss.emplace();
  loss.endpoints.timeout_s = 15;
  auto& summary = loss.results["doq"];
  summary.n = 299;
  summary.timeouts = 1;
  summary.quantiles = {{.p = 0.5, .ms = 82.0, .low_ms = 81.9, .high_ms = 82.2},
                       {.p = 0.99, .ms = 412.0, .low_ms = 350.0, .high_ms = std::nullopt}};
  auto& accounting = summary.accounting.emplace();
  accounting.lookups = 300;
  accounting.answered = 299;
  accounting.causes["retry"] = {.name = "Retry", .lookups = 9, .mean_ms = 1.2, .max_ms = 40.2};
  accounting.findings["retry_round_trip"] = {.lookups = 9, .first_sample = 17, .sentence = "A Retry cost a round trip."};
  return out;
}

TEST(Check, WhatHoldsHoldsInEveryFormOfALimit) {
  const auto it = checked(some_study(), R"(
[[rule]]
experiment = "packets"
transports = ["doq"]
round_trips = 2
bytes_total = "<= 6000 bytes"
bytes_s2c = "= 5000"
ms = "< 90 ms"
pkts_c2s = ">= 0"
no_answer_percent = "<= 0 %"
)");
  EXPECT_EQ(it.assertions.size(), 6u);
  for (const auto& assertion : it.assertions) EXPECT_TRUE(assertion.holds) << assertion.asserted << ": " << assertion.evidence;
  EXPECT_TRUE(it.holds());
}

TEST(Check, WhatDoesNotHoldSaysWhatWasMeasured) {
  const auto it = checked(some_study(), "[[rule]]\nname = \"tail\"\np99 = \"<= 400 ms\"\n");
  ASSERT_EQ(it.assertions.size(), 1u);
  EXPECT_FALSE(it.holds());
  EXPECT_EQ(it.assertions[0].experiment, "loss");
  EXPECT_EQ(it.assertions[0].asserted, "p99 <= 400 ms");
  EXPECT_EQ(it.assertions[0].evidence, "p99 is 412 ms [350, ≥15 s], n = 300");
}

TEST(Check, NoiseIsAllowedOnlyWhereAskedFor) {
  EXPECT_TRUE(checked(some_study(), "[[rule]]\nallow_noise = true\np99 = \"<= 400 ms\"\n").holds());
  EXPECT_FALSE(checked(some_study(), "[[rule]]\nallow_noise = true\np99 = \"<= 349 ms\"\n").holds());
  EXPECT_TRUE(checked(some_study(), "[[rule]]\nallow_noise = true\np50 = 82.1\n").holds());
  EXPECT_FALSE(checked(some_study(), "[[rule]]\nallow_noise = true\np50 = 82.3\n").holds());
}

TEST(Check, CausesAndFindingsComeWithTheirEvidence) {
  const auto it = checked(some_study(), "[[rule]]\nexperiment = \"loss\"\nno_cause = [\"retry\", \"amplification_limit\"]\n"
                                        "no_finding = [\"retry_round_trip\"]\n");
  ASSERT_EQ(it.assertions.size(), 3u);
  EXPECT_FALSE(it.assertions[0].holds);
  EXPECT_THAT(it.assertions[0].evidence, HasSubstr("in 9 of 299 lookups"));
  EXPECT_TRUE(it.assertions[1].holds);
  EXPECT_FALSE(it.assertions[2].holds);
  EXPECT_THAT(it.assertions[2].evidence, HasSubstr("sample 17: A Retry cost a round trip."));
}

TEST(Check, WhatCannotBeCheckedDoesNotHold) {
  const auto fails = [](std::string_view rules, std::string_view reason) {
    const auto it = checked(some_study(), rules);
    EXPECT_FALSE(it.holds()) << rules;
    EXPECT_THAT(it.assertions.back().evidence, HasSubstr(reason)) << rules;
  };
  fails("[[rule]]\nexperiment = \"packets\"\nno_cause = [\"retry\"]\n", "not known");        // never taken apart
  fails("[[rule]]\ntransports = [\"doq\", \"dot\"]\nround_trips = 2\n", "no dot with this quantity");
  fails("[[rule]]\nexperiment = \"pq\"\nround_trips = 2\n", "no results in pq");
  fails("[[rule]]\nexperiment = \"packets\"\np99 = 1\n", "nothing to check");             // of loss alone
  fails("[[rule]]\nexperiment = \"loss\"\nbytes_s2c = 1\n", "samples are in another file");
  EXPECT_FALSE(results::CheckRun{}.holds());
}

TEST(Check, QuantilesBeyondTheTimeoutAreAtLeastIt) {
  auto study = some_study();
  study.loss->results["doq"].quantiles[1] = {.p = 0.99, .censored = true};
  EXPECT_FALSE(checked(study, "[[rule]]\np99 = \"<= 400 ms\"\n").holds());
  EXPECT_TRUE(checked(study, "[[rule]]\np99 = \">= 400 ms\"\n").holds());
}

TEST(CheckRules, WrongOnesSayWhereAndWhatIsRight) {
  const auto reason = [](std::string_view text) {
    const auto rules = parse_rules(text, words());
    return rules ? std::string("accepted") : rules.error().message;
  };
  EXPECT_THAT(reason("[[rule]\n"), HasSubstr("line 1"));
  EXPECT_THAT(reason(""), HasSubstr("no [[rule]]"));
  EXPECT_THAT(reason("[rule]\nms = 1\n"), HasSubstr("no [[rule]]"));
  EXPECT_THAT(reason("limit = 1\n"), HasSubstr("\"limit\" is not known"));
  EXPECT_THAT(reason("[[rule]]\nname = \"empty\"\n"), HasSubstr("asserts nothing"));
  EXPECT_THAT(reason("[[rule]]\np98 = 1\n"), HasSubstr("\"p98\" is no quantity"));
  EXPECT_THAT(reason("[[rule]]\nms = 1\n[[rule]]\np99 = \"about 4\"\n"), HasSubstr("rule 2 (line 3): p99 = \"about 4\""));
  EXPECT_THAT(reason("[[rule]]\np99 = \"<= 4 s\"\n"), HasSubstr("the unit is ms"));
  EXPECT_THAT(reason("[[rule]]\nround_trips = \"2 ms\"\n"), HasSubstr("no unit"));
  EXPECT_THAT(reason("[[rule]]\np99 = \"<= nan\"\n"), HasSubstr("not of the form"));
  EXPECT_THAT(reason("[[rule]]\ntransports = [\"DoQ\"]\nms = 1\n"), HasSubstr("transport \"DoQ\" is none of do53"));
  EXPECT_THAT(reason("[[rule]]\ntransports = \"doq\"\nms = 1\n"), HasSubstr("a list of texts"));
  EXPECT_THAT(reason("[[rule]]\nno_cause = [\"retyr\"]\n"), HasSubstr("\"retyr\" is none of retry"));
  EXPECT_THAT(reason("[[rule]]\ncase = \"reused\"\nms = 1\n"), HasSubstr("only pq and warm"));
  EXPECT_THAT(reason("[[rule]]\nexperiment = \"lost\"\nms = 1\n"), HasSubstr("is none of packets"));
}

TEST(CheckJunit, IsXmlWithTheEvidenceWhateverIsInIt) {
  results::CheckRun run{.results_file = "a&b.json"};
  run.assertions.push_back({"<rule \"1\">", "loss", "doq", "p99 <= 400 ms", false, "p99 is \x01 500 ms"});
  run.assertions.push_back({"two", "loss", "dot", "p50 <= 400 ms", true, "fine"});
  const auto xml = results::to_junit(run);
  EXPECT_THAT(xml, HasSubstr(R"(<testsuite name="a&amp;b.json" tests="2" failures="1")"));
  EXPECT_THAT(xml, HasSubstr(R"(name="&lt;rule &quot;1&quot;&gt;: p99 &lt;= 400 ms">)"));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"p99 is \xEF\xBF\xBD 500 ms\"/>"));
  EXPECT_THAT(xml, HasSubstr("<testcase classname=\"doxlab.loss.dot\" name=\"two: p50 &lt;= 400 ms\"/>"));
}

}  // namespace
}  // namespace doxlab::compare
