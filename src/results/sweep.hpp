#pragma once
/// The records of a sweep: loss runs over a grid of options.
///
/// The file of a sweep is text, a JSON object a line: first the header, then each finished cell with all its
/// samples. Cells stand in the order in which they ended. A line is complete if it ends in a line feed; what
/// follows the last line feed is what an interruption left, and is no cell. docs/sweeps.md shows one.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "results/loss.hpp"

namespace doxlab::results {

inline constexpr int kSweepSchemaVersion = 1;
/// Far more than anybody waits for; a bound for what a file may claim.
inline constexpr std::uint64_t kMostCells = 1'000'000;

/// One dimension of the grid: an option by its name on the command line, without dashes, and its values as
/// typed.
struct GridAxis {
  std::string option;
  std::vector<std::string> values;
  friend bool operator==(const GridAxis&, const GridAxis&) = default;
};

/// The first line of a sweep's file.
struct SweepHeader {
  int schema_version = kSweepSchemaVersion;
  std::string experiment = "sweep";
  std::string doxlab_version;
  std::string fingerprint;     ///< of what decides the cells; see fingerprint()
  std::vector<GridAxis> grid;  ///< the last axis varies fastest
  std::map<std::string, std::string>
      options;                    ///< the same in every cell: as LossRun::options, without the grid's
  std::uint64_t repetitions = 0;  ///< lookups in each cell for each transport
  std::optional<Shard> shard;     ///< the cells are those of this part alone
  std::string command_line, started;
};

/// A finished cell: a line of the file.
struct SweepCell {
  std::uint64_t cell = 0;          ///< number in the grid, from 0
  std::vector<std::string> point;  ///< a value for each axis
  std::string started;
  double duration_s = 0;
  std::uint64_t repeated = 0;  ///< as LossRun::repeated
  LinkSettings link;
  EndpointSettings endpoints;
  LinkPrecision precision;
  Environment environment;
  std::vector<LossSample> samples;  ///< ordered by transport and sample; all of them
};

/// One transport in one cell: a row of the table.
struct SweepRow {
  std::uint64_t cell = 0;
  std::vector<std::string> point;
  std::string name;                          ///< "doq"
  std::optional<std::uint64_t> round_trips;  ///< median (the lower of two middle ones) over the answered
  std::optional<std::uint64_t> pkts_c2s, pkts_s2c, bytes_c2s, bytes_s2c,
      bytes_total;  ///< medians, as round_trips
  double timeout_s = 0;
  bool link_within_1_ms = true;  ///< as LinkPrecision::within_1_ms of the cell
  LossSummary latency;
};

/// What a sweep has found, without its samples.
struct SweepRun {
  SweepHeader header;
  double duration_s = 0;                        ///< of all its cells, wherever and whenever they were run
  std::uint64_t cells = 0, cells_finished = 0;  ///< of the shard
  std::uint64_t repeated = 0;
  std::vector<SweepRow> rows;  ///< by cell, then by transport in the order of people
};

/// The number of cells. Errors: no axis, an axis without values or twice, more cells than kMostCells.
Result<std::uint64_t> cell_count(const std::vector<GridAxis>& grid);
/// The values of cell number `cell`, one for each axis. `cell` is below cell_count.
std::vector<std::string> cell_point(const std::vector<GridAxis>& grid, std::uint64_t cell);
/// "delay=20 loss=2". Shape: a value for each axis.
std::string point_text(const std::vector<GridAxis>& grid, const std::vector<std::string>& point);

/// 16 hexadecimal digits over version, grid, options and repetitions: the same for all shards of one sweep.
std::string fingerprint(const SweepHeader& header);
/// The first thing in which two sweeps differ that may not be joined or continued, as half a sentence: "loss
/// is 2 in one and 5 in the other". Empty if none; shards may differ.
std::string difference(const SweepHeader& one, const SweepHeader& other);
/// One line without line feed.
std::string to_json_line(const SweepHeader& header);
std::string to_json_line(const SweepCell& cell);
std::string to_json(const SweepRun& run);

/// Reads the first line of a file. Errors: a sentence as from parse_loss_run; a fingerprint that does not
/// fit.
Result<SweepHeader> parse_sweep_header(std::string_view line);
/// Reads a cell of the sweep `header`. Errors: as above; a cell that the grid or the shard does not have;
/// samples that are not exactly those of the cell.
Result<SweepCell> parse_sweep_cell(std::string_view line, const SweepHeader& header);

}  // namespace doxlab::results
