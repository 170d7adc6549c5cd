#include "experiment/merge.hpp"

#include <filesystem>
#include <format>
#include <fstream>
#include <memory>
#include <print>

#include "commands.hpp"
#include "report/loss.hpp"
#include "report/sweep.hpp"
#include "files.hpp"
#include "output.hpp"
#include "study_file.hpp"

namespace doxlab::app {
namespace {

struct MergeOptions {
  std::string out;
  std::vector<std::string> in;
  bool force = false;
};

/// A sweep's file has its kind in its first line, a loss run's JSON opens with a line of its own.
bool is_sweep(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string line;
  std::getline(in, line);
  return line.contains("\"experiment\":\"sweep\"");
}

experiment::NamedLossRun read_loss(const std::string& path) {
  auto run = results::parse_loss_run(read_file(path));
  if (!run) throw std::runtime_error(std::format("{}: {}", path, run.error().message));
  if (!run->samples_file.empty()) run->samples = read_samples(path, run->samples_file);
  return {path, std::move(*run)};
}

template <class T>
T value_or_throw(Result<T>&& result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

int finish(const report::Document& document, const std::string& missing) {
  std::print("{}", document.render(style_of(stdout)));
  if (missing.empty()) return kOk;
  std::print(stderr, "doxlab: the parts are not the whole\n{}", missing);
  return kFailed;
}

int run(const MergeOptions& options, const Invocation& invocation) {
  if (!options.force && std::filesystem::exists(options.out))
    throw UsageError(std::format(
        "{} is there already; the first file is the one to write (--force replaces it)", options.out));
  for (const auto& path : options.in) {
    std::error_code ignored;
    if (std::filesystem::equivalent(path, options.out, ignored))
      throw UsageError(path + " is both to be read and to be written");
  }
  if (is_sweep(options.in.front())) {
    const auto merged = value_or_throw(experiment::merge_sweeps(options.in, options.out));
    return finish(report::sweep_text(merged.run), merged.missing);
  }
  std::vector<experiment::NamedLossRun> parts;
  for (const auto& path : options.in) parts.push_back(read_loss(path));
  auto merged = value_or_throw(experiment::merge_loss(std::move(parts)));
  merged.run.command_line = invocation.command_line;
  write_output(options.out, results::to_json(merged.run));
  return finish(report::loss_text(merged.run), merged.missing);
}

}  // namespace

Command add_merge(CLI::App& parent) {
  auto* command =
      parent.add_subcommand("merge", "Join the parts of a loss run or of a sweep that --shard has split");
  auto options = std::make_shared<MergeOptions>();
  command->add_option("OUT", options->out, "File to write")->required();
  command
      ->add_option("IN", options->in, "Files of the parts: --json of doxlab loss, or --out of doxlab sweep")
      ->required();
  command->add_flag("--force", options->force, "Replace OUT if it is there");
  command->footer(
      "Examples:\n"
      "  doxlab merge whole.json part-0.json part-1.json part-2.json part-3.json\n"
      "  doxlab merge whole.ndjson part-*.ndjson\n\n"
      "Refuses parts of different runs (version, settings, seed) and parts that overlap. Where parts are "
      "missing it writes what there\n"
      "is, says what is missing, and exits with 1.");
  return {command, [options](const Invocation& invocation) { return run(*options, invocation); }, [] { return false; }};
}

}  // namespace doxlab::app
