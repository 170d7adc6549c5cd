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

}  // namespace
}  // namespace doxlab::report
