#include "report/document.hpp"

#include <gmock/gmock.h>

#include "report/spark.hpp"

namespace doxlab::report {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Document title_and_table() {
  Table table({{"n", Table::Align::Right}});
  table.add_row({"7"});
  Document out = "Title\nand more\n\n";
  out += table;
  out += "WARNING: late\n";
  return out;
}

TEST(Document, IsPlainTextUnlessAskedForMore) {
  EXPECT_EQ(title_and_table().to_text(), "Title\nand more\n\nn\n─\n7\nWARNING: late\n");
  EXPECT_THAT(title_and_table().to_text(), Not(HasSubstr("\033")));
}

TEST(Document, ColoursTitlesAndWhatMustNotBeMissed) {
  const auto text = title_and_table().render({.has_colour = true});
  EXPECT_THAT(text, HasSubstr("\033[33mWARNING: late\033[0m\n"));
  EXPECT_THAT(text, HasSubstr("\033[1mn\n"));
  EXPECT_THAT(text, HasSubstr("Title\nand more\n"));
}

TEST(Document, MarkdownKeepsLinesAndTables) {
  EXPECT_EQ(title_and_table().render({.format = Format::Markdown}), "Title  \nand more\n\n| n |\n| ---: |\n| 7 |\n\nWARNING: late\n");
}

TEST(Document, CsvIsTheTablesAlone) {
  auto two = title_and_table();
  two += title_and_table();
  EXPECT_EQ(two.render({.format = Format::Csv}), "n\n7\n\nn\n7\n");
}

TEST(Document, NothingIsEmpty) {
  Document none = "";
  EXPECT_TRUE(none.empty());
  none += Document();
  EXPECT_THAT(none.to_text(), IsEmpty());
}

TEST(Spark, StepsAreEqualOnALogarithmicScale) {
  const double values[] = {1, 20, 20, 20, 20, 200, 900, 5000};
  EXPECT_EQ(spark(values, 1, 1000, 3), "▅█▇") << "one, four, three";
  EXPECT_EQ(spark(values, 1, 1'000'000, 6), "▅█▆▅  ");
  EXPECT_THAT(spark({}, 1, 10, 5), IsEmpty());
  EXPECT_THAT(spark(values, 0, 10, 5), IsEmpty());
  EXPECT_THAT(spark(values, 10, 10, 5), IsEmpty());
}

}  // namespace
}  // namespace doxlab::report
