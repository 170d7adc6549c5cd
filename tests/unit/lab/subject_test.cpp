// Subject files: what is read, what is refused and with which words, and what is filled in.
#include "lab/subject.hpp"

#include <gmock/gmock.h>

#include <random>

#include "lab/subject_process.hpp"

namespace doxlab::lab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kWhole = R"(name = "mine"
summary = "one of my own"
package = "mine"
command = ["mine", "-c", "{{folder}}/mine.conf"]
version = ["mine", "--version"]
options = ["retry", "zone"]
doh_path = "/q"
[ports]
dot = 853
doh3 = 8443
[[file]]
name = "mine.conf"
text = "listen {{host}} {{doq_retry}}"
)";

TEST(SubjectFile, IsReadWhole) {
  const auto subject = parse_subject(kWhole, "mine.toml");
  ASSERT_TRUE(subject) << subject.error().message;
  EXPECT_EQ(subject->name, "mine");
  EXPECT_EQ(subject->package, "mine");
  EXPECT_THAT(subject->command, ElementsAre("mine", "-c", "{{folder}}/mine.conf"));
  EXPECT_THAT(subject->version_command, ElementsAre("mine", "--version"));
  EXPECT_EQ(subject->doh_path, "/q");
  EXPECT_EQ(subject->ports.at(Transport::Doh3), 8443);
  EXPECT_THAT(subject->options, ElementsAre("retry", "zone"));
  ASSERT_THAT(subject->files, SizeIs(1));
  EXPECT_EQ(offered_transports(*subject), "dot, doh3");
}

TEST(SubjectFile, ThoseThatAreBuiltInAreRight) {
  EXPECT_THAT(built_in_subjects(), ElementsAre("bind", "caddy", "dnsdist", "knot", "nginx", "unbound"));
  for (const auto& name : built_in_subjects()) {
    const auto subject = built_in_subject(name);
    ASSERT_TRUE(subject) << subject.error().message;
    EXPECT_EQ(subject->name, name);
    EXPECT_FALSE(subject->package.empty());
  }
  EXPECT_THAT(built_in_subject("apache").error().message, HasSubstr("no subject named 'apache'"));
}

TEST(SubjectFile, WhatIsWrongIsSaidWithItsLine) {
  const std::string start = "name = \"a\"\ncommand = [\"a\"]\n", ports = "[ports]\ndo53 = 53\n";
  const std::pair<std::string, const char*> cases[] = {
      {"", "'name' is missing"},
      {"name = ", "mine.toml, line 1: "},
      {"name = 3\n", "line 1: 'name' must be a text"},
      {"name = \"a\"\n" + ports, "'command' is missing"},
      {start, "'ports' offers no transport"},
      {start + "[ports]\n", "'ports' offers no transport"},
      {start + "ports = 3\n", "line 3: 'ports' must be a table"},
      {start + "[ports]\nsmtp = 25\n", "line 4: 'smtp' is no transport"},
      {start + "[ports]\ndnscrypt = 443\n", "'dnscrypt' is no transport that a subject can offer"},
      {start + "[ports]\ndot = 0\n", "from 1 to 65535"},
      {start + "[ports]\ndot = 65536\n", "from 1 to 65535"},
      {start + "[ports]\ndot = 8.5\n", "from 1 to 65535"},
      {start + "colour = 1\n" + ports, "line 3: 'colour' is no key"},
      {start + "options = [\"loss\"]\n" + ports, "'loss' is no option that a server can follow"},
      {"name = \"a/b\"\ncommand = [\"a\"]\n" + ports, "letters, digits, '-' and '.' only"},
      {"name = \"a\\u0000\"\ncommand = [\"a\"]\n" + ports, "has a zero in it"},
      {"name = \"..\"\ncommand = [\"a\"]\n" + ports, "no '.' in front"},
      {"name = \"a\"\ncommand = [\"{{nothing}}\"]\n" + ports, "no value named {{nothing}}"},
      {"name = \"a\"\ncommand = \"a -b\"\n" + ports, "'command' must be a list of texts"},
      {start + ports + "[[file]]\nname = \"../a\"\n", "no name for a file"},
      {start + ports + "[[file]]\nname = \".a\"\n", "no name for a file"},
      {start + ports + "[[file]]\ntext = \"\"\n", "no name for a file"},
      {start + ports + "[[file]]\nname = \"a\"\ntext = \"{{key}}\"\n", "no value named {{key}}"},
      {start + ports + "[[file]]\nname = \"a\"\nmode = 7\n", "'mode' is no key of a file"},
      {start + "file = [1]\n" + ports, "[[file]]"},
      {std::string(kLargestSubjectFile + 1, '#'), "more than"},
      {std::string(100'000, '['), "mine.toml, line 1"},
      {std::string("\0\xff\xfe", 3), "mine.toml, line 1"},
  };
  for (const auto& [text, said] : cases) {
    const auto subject = parse_subject(text, "mine.toml");
    ASSERT_FALSE(subject) << text.substr(0, 200);
    EXPECT_THAT(subject.error().message, HasSubstr(said)) << text.substr(0, 200);
  }
}

TEST(SubjectFile, DamagedInAnyWayIsReadOrRefused) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random); };
  using namespace std::string_view_literals;
  constexpr auto kMarks = "[]{}\"'\\=.,#\n\r\t \0\xff\xc3+-_019eE:TZinfa"sv;
  for (int round = 0; round < 20000; ++round) {
    std::string text = kWhole;
    for (auto changes = 1 + pick(6); changes > 0; --changes) {
      const auto at = pick(text.size());
      switch (pick(3)) {
        case 0: text[at] = kMarks[pick(kMarks.size())]; break;
        case 1: text.insert(at, 1 + pick(40), kMarks[pick(kMarks.size())]); break;
        default: text.erase(at, 1 + pick(20));
      }
      if (text.empty()) text = "=";
    }
    const auto subject = parse_subject(text, "mine.toml");
    ASSERT_TRUE(subject || !subject.error().message.empty()) << text;
  }
}

TEST(FillIn, ReplacesNamesAndNothingElse) {
  const SubjectValues values{{"host", "[::1]"}, {"empty", ""}, {"braces", "{{host}}"}};
  EXPECT_EQ(fill_in("listen {{host}}:53{{empty}};", values), "listen [::1]:53;");
  EXPECT_EQ(fill_in("{ {{{host}}} {{ host }} {{}} {{Host}} {{host", values), "{ {[::1]} {{ host }} {{}} {{Host}} {{host");
  EXPECT_EQ(fill_in("{{braces}}", values), "{{host}}") << "once only";
  EXPECT_THAT(fill_in("{{port}}", values).error().message, HasSubstr("no value for {{port}}"));
}

TEST(FillIn, IsBounded) {
  std::string text;
  for (int i = 0; i < 64; ++i) text += "{{big}}";
  EXPECT_FALSE(fill_in(text, {{"big", std::string(1 << 20, 'x')}}));
}

TEST(LastLines, AreTheLastPrintableAndShort) {
  EXPECT_EQ(last_lines("", 3), "");
  EXPECT_EQ(last_lines("a\nb\nc\nd\n", 3), "b\nc\nd\n");
  EXPECT_EQ(last_lines("a\nb", 3), "a\nb\n");
  EXPECT_EQ(last_lines("\n\na\n\n", 3), "a\n");
  EXPECT_EQ(last_lines(std::string("\x1b[31m\0\xc3\xa4\tx", 10), 3), "?[31m???\tx\n");
  const auto line = last_lines(std::string(5000, 'y'), 3);
  EXPECT_THAT(line, SizeIs(200 + 4));
  EXPECT_TRUE(line.ends_with("y...\n"));
}

}  // namespace
}  // namespace doxlab::lab
