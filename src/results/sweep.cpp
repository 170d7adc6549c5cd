#include "results/sweep.hpp"

#include <algorithm>
#include <format>
#include <set>

#include "results/difference.hpp"
#include "results/json_reader.hpp"

namespace doxlab::results {
namespace {

std::string joined(const std::vector<GridAxis>& grid) {
  std::string out;
  for (const auto& axis : grid) {
    out += (out.empty() ? "" : " ") + axis.option + '=';
    for (std::size_t i = 0; i < axis.values.size(); ++i) out += (i > 0 ? "," : "") + axis.values[i];
  }
  return out;
}

/// Samples of each transport: every number from 0 once.
Result<void> check_samples(const SweepCell& cell, std::uint64_t repetitions) {
  for (std::size_t i = 0; i < cell.samples.size(); ++i) {
    const auto& sample = cell.samples[i];
    if (const auto good = validate(sample); !good) return good;
    if (sample.sample != i % repetitions || sample.transport != cell.samples[i - i % repetitions].transport)
      return fail(std::format("sample {} of {} is not where it belongs", sample.sample, sample.transport));
  }
  std::set<std::string_view> transports;
  for (std::size_t i = 0; i < cell.samples.size(); i += repetitions)
    if (!transports.insert(cell.samples[i].transport).second)
      return fail(std::format("samples of {} stand there twice", cell.samples[i].transport));
  if (cell.samples.empty() || cell.samples.size() % repetitions != 0) return fail("samples are missing");
  return {};
}

}  // namespace

Result<std::uint64_t> cell_count(const std::vector<GridAxis>& grid) {
  if (grid.empty()) return fail("a grid needs at least one option");
  std::uint64_t cells = 1;
  std::set<std::string_view> names;
  for (const auto& axis : grid) {
    if (!names.insert(axis.option).second) return fail(std::format("{} is there twice", axis.option));
    if (axis.values.empty()) return fail(std::format("{} has no values", axis.option));
    std::set<std::string_view> values;
    for (const auto& value : axis.values)
      if (!values.insert(value).second)
        return fail(std::format("{} has the value {} twice", axis.option, value));
    if (axis.values.size() > kMostCells / cells)
      return fail(std::format("the grid has more than {} cells", kMostCells));
    cells *= axis.values.size();
  }
  return cells;
}

std::vector<std::string> cell_point(const std::vector<GridAxis>& grid, std::uint64_t cell) {
  std::vector<std::string> out(grid.size());
  for (std::size_t i = grid.size(); i-- > 0;) {
    const auto& values = grid[i].values;
    out[i] = values[cell % values.size()];
    cell /= values.size();
  }
  return out;
}

std::string point_text(const std::vector<GridAxis>& grid, const std::vector<std::string>& point) {
  std::string out;
  for (std::size_t i = 0; i < grid.size(); ++i)
    out += std::format("{}{}={}", i > 0 ? " " : "", grid[i].option, point[i]);
  return out;
}

std::string fingerprint(const SweepHeader& header) {
  // FNV-1a, 64 bits, over texts that end in a zero each: it tells grids apart that differ by accident.
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
    hash *= 0x100000001b3;
  };
  add(header.doxlab_version);
  add(std::to_string(header.repetitions));
  for (const auto& axis : header.grid) {
    add(axis.option);
    add(std::to_string(axis.values.size()));
    for (const auto& value : axis.values) add(value);
  }
  for (const auto& [name, value] : header.options) {
    add(name);
    add(value);
  }
  return std::format("{:016x}", hash);
}

std::string difference(const SweepHeader& one, const SweepHeader& other) {
  if (one.doxlab_version != other.doxlab_version)
    return differ("the version of doxlab", one.doxlab_version, other.doxlab_version);
  if (one.grid != other.grid) return differ("the grid", joined(one.grid), joined(other.grid));
  if (one.repetitions != other.repetitions)
    return differ("the number of lookups (-n)", std::to_string(one.repetitions),
                  std::to_string(other.repetitions));
  return difference(one.options, other.options);
}

std::string to_json_line(const SweepHeader& header) {
  std::string out;
  (void)glz::write_json(header, out);
  return out;
}

std::string to_json_line(const SweepCell& cell) {
  std::string out;
  (void)glz::write_json(cell, out);
  return out;
}

Result<SweepHeader> parse_sweep_header(std::string_view line) {
  if (const auto kind = check_kind(line, "sweep", kSweepSchemaVersion); !kind)
    return std::unexpected(kind.error());
  auto header = read_strictly<SweepHeader>(line);
  if (!header) return header;
  if (const auto cells = cell_count(header->grid); !cells) return std::unexpected(cells.error());
  if (header->repetitions == 0) return fail("a sweep without lookups");
  if (header->shard && header->shard->index >= header->shard->of)
    return fail(std::format("shard {} of {} is none", header->shard->index, header->shard->of));
  if (header->fingerprint != fingerprint(*header))
    return fail("the header was changed: its fingerprint does not fit");
  return header;
}

Result<SweepCell> parse_sweep_cell(std::string_view line, const SweepHeader& header) {
  auto cell = read_strictly<SweepCell>(line);
  if (!cell) return cell;
  const auto number = cell->cell;
  if (number >= cell_count(header.grid).value_or(0) || cell->point != cell_point(header.grid, number))
    return fail(std::format("cell {} is not of this grid", number));
  if (header.shard && !header.shard->has(number))
    return fail(std::format("cell {} is not of shard {}/{}", number, header.shard->index, header.shard->of));
  if (const auto good = check_samples(*cell, header.repetitions); !good)
    return fail(std::format("cell {}: {}", number, good.error().message));
  return cell;
}

}  // namespace doxlab::results
