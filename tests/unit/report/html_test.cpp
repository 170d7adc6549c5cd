#include "report/html/html.hpp"

#include <gmock/gmock.h>

#include "report/html/report.hpp"
#include "report/html/sections.hpp"
#include "report/html/words.hpp"

namespace doxlab::report::html {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(HtmlEscape, LeavesNothingThatIsMarkup) {
  EXPECT_EQ(escape("<a href=\"x\" title='y'>&"), "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;");
}

TEST(HtmlEscape, KeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(escape("µs – 𝄞"), "µs – 𝄞");
  EXPECT_EQ(escape("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(escape("\xC0\xBC"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "an overlong <";
  EXPECT_EQ(escape("\xED\xA0\x80").find('\xED'), std::string::npos) << "a surrogate";
  EXPECT_EQ(escape("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "cut off";
}

TEST(HtmlEscape, ReplacesControlCharacters) {
  EXPECT_EQ(escape(std::string_view("a\0b\x1B[31m\t\n", 10)), "a\xEF\xBF\xBD" "b\xEF\xBF\xBD[31m\t\n");
}

TEST(HtmlEscape, JsonCannotEndItsScript) {
  const auto json = escape_json(R"({"a":"</script><!--&"})");
  EXPECT_THAT(json, Not(testing::ContainsRegex("[<>&]")));
  EXPECT_EQ(json, "{\"a\":\"\\u003c/script\\u003e\\u003c!--\\u0026\"}");
}

TEST(HtmlWriter, NestsAndRefusesWhatIsOpen) {
  Html html;
  html.open("p", {{"class", "a\"b"}}).text("1 < 2").close();
  EXPECT_EQ(std::move(html).finish(), "<p class=\"a&quot;b\">1 &lt; 2</p>\n");
  Html open;
  open.open("p");
  EXPECT_THROW((void)std::move(open).finish(), std::logic_error);
  EXPECT_THROW(Html().close(), std::logic_error);
}

TEST(ReportWords, PutsFiguresIntoWords) {
  EXPECT_EQ(ms_text(83.04), "83.0 ms");
  EXPECT_EQ(ms_text(3360.4), "3,360 ms");
  EXPECT_EQ(ms_text(999.96), "1,000 ms");
  EXPECT_EQ(signed_ms(-40.36), "−40.4");
  EXPECT_EQ(signed_ms(0.01), "0.0");
  EXPECT_EQ(percent(0.0167), "1.67%");
  EXPECT_EQ(whole(1e300), "?");
  EXPECT_EQ(listed({"a", "b", "c"}), "a, b and c");
}

TEST(ReportWords, UnknownCausesAndOwnersAreInTheLastGroup) {
  EXPECT_EQ(group_of_cause("of a later version"), cause_groups().size() - 1);
  EXPECT_EQ(group_of_owner("of a later version"), owner_groups().size() - 1);
}

results::PacketsSummary summary(std::uint64_t round_trips, double ms) {
  return {.samples = 9, .ms = ms, .ms_min = ms, .ms_max = ms, .round_trips = round_trips};
}

std::vector<std::string> leads(const results::Study& study) {
  std::vector<std::string> out;
  for (const auto& sentence : headline(study)) out.push_back(sentence.lead);
  return out;
}

TEST(ReportHeadline, NamesTheFastest) {
  results::Study study;
  study.packets.emplace().results = {{"do53", summary(1, 40)}, {"dot", summary(3, 123)}, {"doh3", summary(2, 83.5)}, {"doq", summary(2, 83.3)}};
  const auto sentences = headline(study);
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_EQ(sentences[0].lead, "DoH3 and DoQ are fastest of the encrypted transports.");
  EXPECT_THAT(sentences[0].text, HasSubstr("2 round trips"));
  EXPECT_THAT(sentences[0].text, HasSubstr("DoT needs 3"));
}

TEST(ReportHeadline, BlamesTheRetryOnlyWhereThereIsOne) {
  results::Study study;
  auto& run = study.as_published.emplace();
  run.results = {{"doh", summary(3, 123)}, {"doh3", summary(3, 124)}};
  EXPECT_THAT(leads(study), Not(testing::Contains("A Retry takes back what QUIC saves.")));
  run.results["doh3"].raw = {{.retry = true}};
  EXPECT_THAT(leads(study), testing::Contains("A Retry takes back what QUIC saves."));
}

TEST(ReportHeadline, PostQuantumCostsTimeWhereItDoes) {
  results::Study study;
  auto& run = study.pq.emplace();
  run.results["doq"] = {.pq_group = "X25519MLKEM768", .cl_group = "X25519", .delta = 2000, .pq_round_trips = 3, .cl_round_trips = 2};
  EXPECT_THAT(leads(study), ElementsAre("The post-quantum key exchange costs bytes and time."));
  run.results["doq"].pq_round_trips = 2;
  EXPECT_THAT(leads(study), ElementsAre("The post-quantum key exchange costs bytes, not time."));
}

TEST(HtmlReport, HasAPlaceForEveryPartAndNoneForWhatIsMissing) {
  results::Study study;
  study.packets.emplace().results = {{"doq", summary(2, 83)}};
  const auto page = html_report(study);
  EXPECT_THAT(page, HasSubstr("<section id=\"transports\""));
  EXPECT_THAT(page, Not(HasSubstr("<section id=\"loss\"")));
  EXPECT_THAT(page, Not(HasSubstr("href=\"#loss\"")));
}

TEST(HtmlReport, OfAnInterruptedStudySaysSo) {
  results::Study study;
  study.complete = false;
  EXPECT_THAT(html_report(study), HasSubstr("was interrupted"));
}

TEST(HtmlReport, LoadsNothing) {
  const auto page = html_report({});
  EXPECT_THAT(page, HasSubstr("default-src &#39;none&#39;"));
  EXPECT_THAT(page, Not(HasSubstr("<script src")));
  EXPECT_THAT(page, Not(HasSubstr("rel=\"stylesheet\"")));
  EXPECT_THAT(page, Not(HasSubstr("sourceMappingURL")));
}

TEST(HtmlReport, ManyLookupsAreThinned) {
  results::Study study;
  auto& run = study.loss.emplace();
  run.endpoints.timeout_s = 15;
  run.results["doq"] = {.n = 100'000};
  const auto empty = html_report(study).size();
  for (std::uint64_t i = 0; i < 100'000; ++i)
    run.samples.push_back({.transport = "doq", .sample = i, .outcome = "answered", .ms = 40 + static_cast<double>(i) / 1000});
  EXPECT_LT(html_report(study).size() - empty, 100'000u);
}

TEST(HtmlReport, ImpossibleFiguresAreShownAsUnknown) {
  results::Study study;
  study.packets.emplace().results = {{"doq", summary(2, 1e300)}};
  study.packets->duration_s = -1e300;
  auto& run = study.loss.emplace();
  run.results["doq"] = {.n = 1, .quantiles = {{.p = 0.5, .ms = -1}, {.p = 7}, {.p = 0.99, .ms = 1e308, .low_ms = 1e308, .high_ms = -1e308}}};
  EXPECT_THAT(html_report(study), HasSubstr("? (?–?)"));
}

}  // namespace
}  // namespace doxlab::report::html
