#include "report/table.hpp"

#include <gtest/gtest.h>

namespace doxlab::report {
namespace {

TEST(Table, AlignsByCodePointsAndTrimsTheRight) {
  Table table({{"name", Table::Align::Left}, {"µs", Table::Align::Right}});
  table.add_row({"a", "1"});
  table.add_row({"longer", "1234"});
  EXPECT_EQ(table.to_text(),
            "name      µs\n"
            "──────  ────\n"
            "a          1\n"
            "longer  1234\n");
}

Table wide() {
  Table table({{"transport", Table::Align::Left}, {"p50", Table::Align::Right}, {"p99", Table::Align::Right}});
  table.add_row({"DoT", "81.0 [80.9, 81.2]", "≥15 s [1.0, ≥15 s]"});
  table.add_row({"a|b", "-", "n < 368"});
  return table;
}

TEST(Table, GoesOnBelowWhatTheTerminalIsTooNarrowFor) {
  EXPECT_EQ(wide().to_text({.columns = 30}),
            "transport                p50\n"
            "─────────  ─────────────────\n"
            "DoT        81.0 [80.9, 81.2]\n"
            "a|b                        -\n"
            "\n"
            "transport                 p99\n"
            "─────────  ──────────────────\n"
            "DoT        ≥15 s [1.0, ≥15 s]\n"
            "a|b                   n < 368\n");
  EXPECT_EQ(wide().to_text({.columns = 48}), wide().to_text()) << "it just fits";
  EXPECT_EQ(wide().width(), 48u);
  EXPECT_EQ(wide().to_text({.columns = 5}), wide().to_text({.columns = 28})) << "one column beside the first there always is";
}

TEST(Table, MarkdownEscapesWhatWouldEndACell) {
  EXPECT_EQ(wide().to_markdown(),
            "| transport | p50 | p99 |\n"
            "| :--- | ---: | ---: |\n"
            "| DoT | 81.0 [80.9, 81.2] | ≥15 s [1.0, ≥15 s] |\n"
            "| a\\|b | - | n \\< 368 |\n");
}

TEST(Table, CsvHasColumnsForIntervals) {
  EXPECT_EQ(wide().to_csv(),
            "transport,p50,p50 low,p50 high,p99,p99 low,p99 high\n"
            "DoT,81.0,80.9,81.2,≥15 s,1.0,≥15 s\n"
            "a|b,-,,,n < 368,,\n");
  Table quoted({{"ms (min–max)", Table::Align::Right}, {"why", Table::Align::Left}});
  quoted.add_row({"84.5 (84.3–84.6)", "refused, \"no\""});
  EXPECT_EQ(quoted.to_csv(), "ms (min–max),ms (min–max) low,ms (min–max) high,why\n84.5,84.3,84.6,\"refused, \"\"no\"\"\"\n");
}

}  // namespace
}  // namespace doxlab::report
