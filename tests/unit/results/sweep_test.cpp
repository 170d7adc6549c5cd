// The grid and the lines of a sweep's file.
#include "results/sweep.hpp"

#include <gmock/gmock.h>

#include "runs.hpp"

namespace doxlab::results {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "no error" : result.error().message;
}

TEST(Grid, LastAxisVariesFastest) {
  const auto grid = test::sweep_header().grid;
  EXPECT_EQ(cell_count(grid), 6u);
  EXPECT_THAT(cell_point(grid, 0), ElementsAre("5", "0"));
  EXPECT_THAT(cell_point(grid, 1), ElementsAre("5", "2"));
  EXPECT_THAT(cell_point(grid, 2), ElementsAre("20", "0"));
  EXPECT_THAT(cell_point(grid, 5), ElementsAre("100", "2"));
}

TEST(Grid, WhatIsNoGridIsRefused) {
  EXPECT_THAT(error_of(cell_count({})), HasSubstr("at least one"));
  EXPECT_THAT(error_of(cell_count({{"loss", {}}})), HasSubstr("no values"));
  EXPECT_THAT(error_of(cell_count({{"loss", {"1", "1"}}})), HasSubstr("value 1 twice"));
  EXPECT_THAT(error_of(cell_count({{"loss", {"1"}}, {"loss", {"2"}}})), HasSubstr("loss is there twice"));
}

TEST(Grid, CellsBeyondCountingAreRefused) {
  std::vector<GridAxis> grid;
  for (int axis = 0; axis < 40; ++axis) {
    grid.push_back({std::to_string(axis), {}});
    for (int value = 0; value < 10; ++value) grid.back().values.push_back(std::to_string(value));
  }
  EXPECT_THAT(error_of(cell_count(grid)), HasSubstr("more than 1000000 cells"));
}

TEST(SweepFingerprint, DependsOnWhatDecidesTheCellsAlone) {
  const auto header = test::sweep_header();
  auto other = header;
  other.shard = Shard{1, 4};
  other.command_line = "something else";
  other.started = "later";
  EXPECT_EQ(fingerprint(other), fingerprint(header));
  EXPECT_EQ(difference(header, other), "");
  other = header;
  other.repetitions = 5;
  EXPECT_NE(fingerprint(other), fingerprint(header));
  EXPECT_THAT(difference(header, other), HasSubstr("is 4 in one and 5 in the other"));
  other = header;
  other.options["seed"] = "2";
  EXPECT_NE(fingerprint(other), fingerprint(header));
  EXPECT_EQ(difference(header, other), "seed is 1 in one and 2 in the other");
  other = header;
  other.options["mtu"] = "1280";
  EXPECT_EQ(difference(header, other), "mtu is not given in one and 1280 in the other");
  other = header;
  other.grid[1].values[1] = "3";
  EXPECT_NE(fingerprint(other), fingerprint(header));
  EXPECT_THAT(difference(header, other), HasSubstr("loss=0,2"));
  other = header;
  other.doxlab_version = "2";
  EXPECT_THAT(difference(header, other), HasSubstr("version"));
}

TEST(SweepLines, AreReadBack) {
  const auto header = test::sweep_header(Shard{1, 2});
  const auto again = parse_sweep_header(to_json_line(header));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json_line(*again), to_json_line(header));
  const auto cell = test::sweep_cell(header, 3);
  const auto cell_again = parse_sweep_cell(to_json_line(cell), *again);
  ASSERT_TRUE(cell_again) << cell_again.error().message;
  EXPECT_EQ(to_json_line(*cell_again), to_json_line(cell));
  EXPECT_EQ(to_json_line(cell).find('\n'), std::string::npos);
}

TEST(SweepLines, AHeaderThatWasChangedIsRefused) {
  auto header = test::sweep_header();
  header.options["seed"] = "2";
  EXPECT_THAT(error_of(parse_sweep_header(to_json_line(header))), HasSubstr("fingerprint"));
  header = test::sweep_header();
  header.schema_version = 2;
  EXPECT_THAT(error_of(parse_sweep_header(to_json_line(header))), HasSubstr("newer doxlab"));
  EXPECT_THAT(error_of(parse_sweep_header(to_json(test::loss_run(3)))), HasSubstr("\"loss\""));
}

TEST(SweepLines, CellsMustBeOfTheGridAndWhole) {
  const auto header = test::sweep_header();
  const auto refused = [&](auto change) {
    auto cell = test::sweep_cell(header, 3);
    change(cell);
    return error_of(parse_sweep_cell(to_json_line(cell), header));
  };
  EXPECT_THAT(refused([](auto& c) { c.cell = 6; }), HasSubstr("not of this grid"));
  EXPECT_THAT(refused([](auto& c) { c.cell = 4; }), HasSubstr("not of this grid"));
  EXPECT_THAT(refused([](auto& c) { c.point.clear(); }), HasSubstr("not of this grid"));
  EXPECT_THAT(refused([](auto& c) { c.samples.pop_back(); }), HasSubstr("missing"));
  EXPECT_THAT(refused([](auto& c) { c.samples.clear(); }), HasSubstr("missing"));
  EXPECT_THAT(refused([](auto& c) { c.samples[1].sample = 2; }), HasSubstr("not where it belongs"));
  EXPECT_THAT(refused([](auto& c) { c.samples[2].transport = "doh"; }), HasSubstr("not where it belongs"));
  EXPECT_THAT(refused([](auto& c) { std::ranges::copy_n(c.samples.begin(), 4, c.samples.begin() + 4); }),
              HasSubstr("twice"));
  EXPECT_THAT(refused([](auto& c) { c.samples[0].ms = -3; }), HasSubstr("no time"));
  auto shard = header;
  shard.shard = Shard{0, 2};
  EXPECT_THAT(error_of(parse_sweep_cell(to_json_line(test::sweep_cell(header, 3)), shard)),
              HasSubstr("shard 0/2"));
}

}  // namespace
}  // namespace doxlab::results
