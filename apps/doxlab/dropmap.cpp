#include <format>
#include <memory>

#include "commands.hpp"
#include "experiment/dropmap.hpp"
#include "experiment/loss.hpp"
#include "files.hpp"
#include "lab_arguments.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report/dropmap.hpp"

namespace doxlab::app {
namespace {

struct DropmapOptions {
  LabOptions lab{kDefaultLossPercent};
  std::size_t repetitions = 3, references = 9, measure = 0;
  bool pairs = false, flip = false, dup = false;
  double delay_one_ms = 0;
  std::string compare;
  Output output;
};

experiment::DropmapOptions map_options(const DropmapOptions& options, const experiment::Setup& setup) {
  using experiment::PacketEvent;
  if (options.flip + options.dup + (options.delay_one_ms > 0) > 1)
    throw UsageError("--flip, --dup and --delay-one: one of them at a time");
  experiment::DropmapOptions out{.event = options.flip               ? PacketEvent::Flip
                                          : options.dup              ? PacketEvent::Duplicate
                                          : options.delay_one_ms > 0 ? PacketEvent::Delay
                                                                     : PacketEvent::Drop,
                                 .extra_delay = from_ms(options.delay_one_ms),
                                 .repetitions = options.repetitions,
                                 .references = options.references,
                                 .pairs = options.pairs,
                                 .loss_probability = setup.link.loss_probability};
  const auto& link = setup.link;
  if (link.burst) throw UsageError("--burst: the map says what follows from independent losses only");
  if (link.duplicate_probability > 0 || link.corrupt_probability > 0 || link.reorder_probability > 0)
    throw UsageError("--duplicate, --corrupt, --reorder: a map needs a path that does nothing at random");
  if (out.event != PacketEvent::Drop && (options.measure > 0 || !options.compare.empty()))
    throw UsageError("--measure and --compare are about lost packets");
  if (options.measure > 0 && !options.compare.empty()) throw UsageError("--measure and --compare: one of them at a time");
  return out;
}

results::LossRun read_measured(const std::string& path) {
  auto run = results::parse_loss_run(read_file(path));
  if (!run) throw UsageError(std::format("{}: {}", path, run.error().message));
  if (!run->link.burst.empty()) throw UsageError(path + ": it was made with bursts of losses, not independent ones");
  return std::move(*run);
}

/// Compares with lookups that were made on another link or with other endpoints in name only.
void check_same(const std::string& path, const results::LossRun& measured, const results::DropmapRun& map) {
  auto link = measured.link;
  link.loss_percent = map.link.loss_percent;
  link.seed = map.link.seed;
  if (const auto difference = results::difference(link, map.link, measured.endpoints, map.endpoints); !difference.empty())
    throw UsageError(std::format("{} was made with other settings: {}", path, difference));
}

void add_measured(results::DropmapRun& map, const results::LossRun& measured, const std::string& from) {
  map.measured_from = from;
  for (auto& [name, summary] : map.results)
    if (const auto found = measured.results.find(name); found != measured.results.end()) summary.measured = found->second;
}

int run(const DropmapOptions& options, const Invocation& invocation) {
  auto setup = options.lab.setup();
  auto wanted = map_options(options, setup);
  options.output.check();
  std::optional<results::LossRun> measured;
  if (!options.compare.empty()) {
    measured = read_measured(options.compare);
    wanted.loss_probability = measured->link.loss_percent / 100;
  }
  auto result = experiment::run_dropmap(setup, wanted, invocation.command_line, show_progress, invocation.stop);
  if (measured) {
    check_same(options.compare, *measured, result);
    add_measured(result, *measured, options.compare);
  } else if (options.measure > 0 && result.complete) {
    const auto on_status = [](const experiment::SamplerStatus& status) { show_progress(status.done, status.of); };
    const auto run = experiment::run_loss(setup, options.measure, {}, {}, invocation.command_line, {{}, on_status},
                                          invocation.stop);
    result.complete = run.complete;
    add_measured(result, run, std::format("{} lookups for each transport with the same settings", options.measure));
  }
  options.output.publish(results::to_json(result), report::dropmap_text(result));
  if (!result.complete) return kInterrupted;
  for (const auto& [name, summary] : result.results)
    if (!summary.reference.ms) return kFailed;
  return kOk;
}

}  // namespace

Command add_dropmap(CLI::App& parent) {
  auto* command = parent.add_subcommand("dropmap", "What the loss of each single packet of a lookup costs");
  auto options = std::make_shared<DropmapOptions>();
  add_repetitions_option(*command, options->repetitions, "packet and transport", 1000);
  command->add_option("--references", options->references, "Lookups without any event, for each transport")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_flag("--pairs", options->pairs,
                    std::format("Also every two packets (at most {} pairs over all transports)", experiment::kMostPairs));
  command->add_flag("--flip", options->flip, "Flip one bit of the packet instead of dropping it");
  command->add_flag("--dup", options->dup, "Deliver the packet twice instead of dropping it");
  command->add_option("--delay-one", options->delay_one_ms, "Delay the packet by so many ms instead of dropping it")
      ->check(number_from(0.001, 60000.0));
  command->add_option("--compare", options->compare,
                      "Results of `doxlab loss` (JSON) to print beside what the map predicts; their loss is taken");
  command->add_option("--measure", options->measure,
                      "Make so many lookups with random losses, for each transport, to print beside it")
      ->check(CLI::Range(1, 10000000));
  options->output.add_to(*command);
  options->lab.add_to(*command);
  command->footer(
      "--loss is that of the distribution which follows from the map; the map itself loses just what it says.\n\n"
      "Examples:\n"
      "  doxlab dropmap --only dot,doq\n"
      "  doxlab dropmap --only do53-tcp --pairs --loss 2 --measure 3000\n"
      "  doxlab dropmap --only doq --compare loss.json\n"
      "  doxlab dropmap --only doh3 --delay-one 30      the packet is overtaken by what is sent within 30 ms\n\n"
      "Ctrl-C ends it with the rows that were measured. Exits with 1 if a transport got no answer at all.");
  return {command, [options](const Invocation& invocation) { return run(*options, invocation); }};
}

}  // namespace doxlab::app
