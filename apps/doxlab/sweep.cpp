#include "experiment/sweep.hpp"

#include <unistd.h>

#include <chrono>
#include <format>
#include <memory>
#include <print>
#include <ranges>

#include "commands.hpp"
#include "lab_arguments.hpp"
#include "report/sweep.hpp"
#include "files.hpp"
#include "output.hpp"

namespace doxlab::app {
namespace {

struct SweepOptions {
  LabOptions lab{kDefaultLossPercent};
  std::vector<std::string> grid;
  std::size_t repetitions = 300;
  std::string out, shard, json, csv;
  const CLI::App* command = nullptr;
};

/// "delay=5,20,100"; with a semicolon that is what parts the values: "burst=1,30;2,30". Errors: UsageError.
results::GridAxis parse_axis(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos)
    throw UsageError(std::format("--grid: '{}' is not OPTION=VALUE,VALUE,...", text));
  results::GridAxis out{.option = lab_argument_name(text.substr(0, equals)), .values = {}};
  const auto values = text.substr(equals + 1);
  const char separator = values.contains(';') ? ';' : ',';
  for (const auto part : values | std::views::split(separator)) {
    const std::string_view value(part);
    const auto first = value.find_first_not_of(' ');
    if (first == std::string_view::npos) continue;
    out.values.emplace_back(value.substr(first, value.find_last_not_of(' ') - first + 1));
  }
  return out;
}

std::string duration_text(double seconds) {
  if (seconds < 90) return std::format("{:.0f} s", seconds);
  if (seconds < 90 * 60) return std::format("{:.0f} min", seconds / 60);
  return std::format("{:.1f} h", seconds / 3600);
}

/// What a cell's command line would be.
class CellSetups {
 public:
  CellSetups(LabArguments fixed, std::vector<results::GridAxis> grid)
      : fixed_(std::move(fixed)), grid_(std::move(grid)) {}

  experiment::Setup operator()(const std::vector<std::string>& point) const {
    auto arguments = fixed_;
    for (std::size_t i = 0; i < grid_.size(); ++i) arguments[grid_[i].option] = point[i];
    return lab_setup(arguments);
  }

 private:
  LabArguments fixed_;
  std::vector<results::GridAxis> grid_;
};

/// Cells done and time left: a line that is rewritten on a terminal, and a line for each finished cell.
class SweepLines {
 public:
  explicit SweepLines(const results::SweepHeader& header) : grid_(header.grid) {}

  void show(const experiment::SweepProgress& progress) {
    latest_ = progress;
    const auto now = monotonic_now();
    if (!isatty(STDERR_FILENO) || now - last_ < 250ms) return;
    last_ = now;
    std::print(stderr, "\r{}: {} of {} lookups; {} of {} cells done{}\033[K",
               results::point_text(grid_, progress.point), progress.lookups.done, progress.lookups.of,
               progress.cells_finished, progress.cells, time_left());
  }

  void show_finished(const results::SweepCell& cell) {
    ++latest_.cells_finished;
    std::println(stderr, "{}{}: {:.0f} s; {} of {} cells done{}", isatty(STDERR_FILENO) ? "\r\033[K" : "",
                 results::point_text(grid_, cell.point), cell.duration_s, latest_.cells_finished, latest_.cells,
                 latest_.cells_finished < latest_.cells ? time_left() : "");
  }

 private:
  std::string time_left() const {
    return latest_.seconds_left ? std::format(", about {} left", duration_text(*latest_.seconds_left))
                                : std::string();
  }

  std::vector<results::GridAxis> grid_;
  experiment::SweepProgress latest_;
  Timestamp last_{};
};

results::SweepHeader make_header(const SweepOptions& options, const LabArguments& fixed,
                                 const Invocation& invocation) {
  results::SweepHeader out;
  out.doxlab_version = DOXLAB_VERSION;
  for (const auto& text : options.grid) out.grid.push_back(parse_axis(text));
  out.options = all_lab_arguments(fixed);
  for (const auto& axis : out.grid) {
    if (fixed.contains(axis.option))
      throw UsageError(std::format("--{} is both given and in the grid", axis.option));
    out.options.erase(axis.option);
  }
  out.repetitions = options.repetitions;
  if (!options.shard.empty()) out.shard = parse_shard(options.shard);
  out.fingerprint = results::fingerprint(out);
  out.command_line = invocation.command_line;
  out.started =
      std::format("{:%FT%TZ}", std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
  return out;
}

/// Every value of the grid is looked at before anything is measured.
void check_grid(const results::SweepHeader& header, const CellSetups& setup_of) {
  const auto cells = results::cell_count(header.grid);
  if (!cells) throw UsageError("--grid: " + cells.error().message);
  auto point = results::cell_point(header.grid, 0);
  for (std::size_t i = 0; i < header.grid.size(); ++i) {
    for (const auto& value : header.grid[i].values) {
      auto other = point;
      other[i] = value;
      try {
        setup_of(other);
      } catch (const UsageError& error) {
        throw UsageError(std::format("--grid {}={}: {}", header.grid[i].option, value, error.what()));
      }
    }
  }
}

int run(const SweepOptions& options, const Invocation& invocation) {
  const auto fixed = typed_lab_arguments(*options.command);
  const auto header = make_header(options, fixed, invocation);
  const CellSetups setup_of(fixed, header.grid);
  check_grid(header, setup_of);
  check_output(options.json);
  check_output(options.csv);

  experiment::SweepSummary summary(header);
  std::optional<experiment::SweepFile> file;
  std::set<std::uint64_t> finished;
  if (!options.out.empty()) {
    auto opened = experiment::SweepFile::open(
        options.out, header, [&](results::SweepCell&& cell, auto, auto) { summary.add(cell); });
    if (!opened) throw std::runtime_error(opened.error().message);
    file = std::move(*opened);
    finished = file->cells();
    if (file->was_torn())
      std::println(stderr, "{}: the last line was half written and is measured again", options.out);
    if (!finished.empty())
      std::println(stderr, "{}: goes on after {} cells that are there", options.out, finished.size());
  }
  SweepLines lines(header);
  const experiment::SweepHandlers handlers{
      [&](const experiment::SweepProgress& progress) { lines.show(progress); },
      [&](const results::SweepCell& cell) {
        summary.add(cell);
        lines.show_finished(cell);
      }};
  const bool complete =
      experiment::run_sweep(header, finished, setup_of, file ? &*file : nullptr, handlers, invocation.stop);

  const auto result = summary.run();
  if (!options.json.empty()) write_output(options.json, results::to_json(result));
  if (!options.csv.empty()) write_output(options.csv, report::sweep_csv(result));
  std::FILE* const stream = options.json == "-" || options.csv == "-" ? stderr : stdout;
  std::print(stream, "{}", report::sweep_text(result).render(style_of(stream)));
  if (!complete) {
    if (file) std::println(stderr, "interrupted; the same command goes on");
    return kInterrupted;
  }
  return kOk;
}

}  // namespace

Command add_sweep(CLI::App& parent) {
  auto* command = parent.add_subcommand(
      "sweep", "The loss experiment over a grid of options, one row a cell and transport");
  auto options = std::make_shared<SweepOptions>();
  command
      ->add_option("--grid", options->grid,
                   "OPTION=VALUE,VALUE,... of any option below, without dashes (values with commas: "
                   "separated by ;); give it once for "
                   "each option, the last one varies fastest")
      ->required()
      ->allow_extra_args(false)
      ->take_all();
  add_repetitions_option(*command, options->repetitions, "transport in each cell", 10000000);
  command->add_option("--out", options->out,
                      "Write each finished cell with all its samples to this file, a JSON object a line; if "
                      "it is there, go on with it");
  command->add_option("--json", options->json, "Write the rows as JSON to this file; - is standard output");
  command->add_option("--csv", options->csv, "Write the rows as CSV to this file; - is standard output");
  add_shard_option(*command, options->shard);
  options->lab.add_to(*command);
  options->command = command;
  command->footer(
      "Examples:\n"
      "  doxlab sweep --grid delay=5,20,100 --grid loss=0,1,2 --out sweep.ndjson\n"
      "  doxlab sweep --grid chain-bytes=1200,3900,8000 --grid compression=none,zlib --only doq,dot --loss 0 "
      "-n 20\n"
      "  doxlab sweep --grid 'burst=1,30;2,30;5,30' --grid transport=dot,doq --csv bursts.csv\n"
      "  doxlab sweep --grid loss=0,1,2,5 -n 3000 --shard 0/4 --out part-0.ndjson   doxlab merge joins the "
      "parts\n\n"
      "Ctrl-C ends it after the cells that are done; the same command goes on where it stopped.");
  return {command, [options](const Invocation& invocation) { return run(*options, invocation); }};
}

}  // namespace doxlab::app
