#pragma once
/// The file of a sweep on disk (results/sweep.hpp says what is in it): read as a whole, or opened to go on. A
/// cell is written with one call and flushed to the disk before the next begins, so an interruption costs the
/// cell under way and nothing else.

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "net/file_descriptor.hpp"
#include "results/sweep.hpp"

namespace doxlab::experiment {

/// Given a cell, its line without line feed, and the byte of the file at which the line starts.
using OnCell = std::function<void(results::SweepCell&& cell, std::string_view line, std::uint64_t offset)>;

struct SweepContents {
  results::SweepHeader header;
  std::set<std::uint64_t> cells;
  std::uint64_t whole_bytes = 0;  ///< up to and with the last line feed
  bool torn = false;              ///< something follows it: half a line of an interrupted write
};

/// Reads a file cell by cell. Errors: a sentence with path and line; the file cannot be read, is no sweep's,
/// holds a cell twice or one that is broken. Half a line at the end is no error.
Result<SweepContents> read_sweep_file(const std::string& path, const OnCell& on_cell);

class SweepFile {
 public:
  /// Opens `path` to go on with the sweep `header`, or makes it. Cells that are there are given to `on_cell`.
  /// Half a line at the end is cut off. One process at a time has the file. Errors: as read_sweep_file;
  /// another sweep or another shard is in it (what differs is said); another process writes it.
  static Result<SweepFile> open(const std::string& path, const results::SweepHeader& header,
                                const OnCell& on_cell);

  const std::set<std::uint64_t>& cells() const { return contents_.cells; }
  bool was_torn() const { return contents_.torn; }

  /// Returns when the cell is on the disk. Errors: std::runtime_error with the system's reason; the file then
  /// is as before.
  void append(const results::SweepCell& cell);

 private:
  SweepFile() = default;
  void write_line(std::string line);

  std::string path_;
  net::FileDescriptor file_;
  SweepContents contents_;
};

}  // namespace doxlab::experiment
