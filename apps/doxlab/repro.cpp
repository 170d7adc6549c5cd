#include "experiment/repro.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <format>
#include <memory>
#include <print>

#include "commands.hpp"
#include "experiment/sample_capture.hpp"
#include "files.hpp"
#include "lab_arguments.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report/repro.hpp"

namespace doxlab::app {
namespace {

/// Beside kOk for "not affected": scripts can tell what was found from what went wrong.
constexpr int kAffected = 3, kNotDecided = 4;
/// As the published measurement counted.
constexpr double kPublishedTimeoutS = 10;

struct ReproOptions {
  LabOptions lab{0, "nginx", kPublishedTimeoutS};
  std::string fault, capture;
  Output output;
  std::size_t repetitions = 100;
  bool find = false, pairs = false;
  const CLI::App* command = nullptr;
};

/// One lookup in a file of its own. What was measured is not lost if it cannot be written.
void write_capture(const std::string& path, const experiment::Sample& sample, const experiment::Setup& setup,
                   const std::string& command_line) {
  std::string error;
  try {
    experiment::SampleCapture capture({.path = path,
                                       .choice = experiment::CaptureChoice::All,
                                       .samples_each = 1,
                                       .one_way_delay = setup.link.one_way_delay,
                                       .comment = command_line + "\nThe first lookup that failed"});
    capture.add(sample);
    error = capture.finish().error;
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  if (error.empty()) std::println(stderr, "doxlab: {}: the packets of the first lookup that failed", path);
  else std::println(stderr, "doxlab: {}", error);
}

std::string capture_path(const ReproOptions& options, const experiment::Setup& setup) {
  return options.capture.empty() ? std::format("repro-{}.pcapng", setup.subject_name) : options.capture;
}

results::ReproRun find(const ReproOptions& options, const Invocation& invocation, const experiment::Setup& setup,
                       const experiment::SampleHandler& on_failure) {
  return experiment::find_fatal_losses(setup, {.pairs = options.pairs, .on_failure = on_failure}, invocation.command_line, show_progress,
                                       invocation.stop);
}

results::ReproRun reproduce(const ReproOptions& options, const Invocation& invocation, const experiment::Setup& setup,
                            const experiment::SampleHandler& on_failure) {
  const auto say = [](std::string_view what) {
    if (isatty(STDERR_FILENO)) std::println(stderr, "\r\033[K{}", what);
  };
  return experiment::run_repro_1616(setup, {.repetitions = options.repetitions, .on_cell = say, .on_failure = on_failure},
                                    invocation.command_line, show_progress, invocation.stop);
}

/// Errors: UsageError.
experiment::Setup setup_for(const ReproOptions& options) {
  if (options.find == !options.fault.empty()) throw UsageError("repro: either a fault (nginx-1616) or --find");
  if (options.pairs && !options.find) throw UsageError("--pairs: only with --find");
  if (options.find && options.command->count("--repetitions") > 0) throw UsageError("--repetitions: only with a fault");
  if (!options.find)
    for (const char* name : {"--only", "--chain-bytes", "--loss", "--burst", "--drop", "--group", "--qtype", "--start"})
      if (options.command->count(name) > 0)
        throw UsageError(std::format("{}: repro nginx-1616 chooses this itself; doxlab loss takes it", name));
  auto setup = options.lab.setup();
  if (!options.find) return setup;
  // A lost packet of Do53 over UDP is a lost lookup: nothing to find.
  if (options.command->count("--only") == 0) std::erase_if(setup.transports, [](Transport t) { return !has_tls(t); });
  if (setup.transports.empty()) throw UsageError("--find: the subject offers no transport with TLS; name others with --only");
  return setup;
}

/// An OpenSSL list of groups as --group takes them by name.
std::string plain(std::string groups) {
  std::erase(groups, '*');
  std::ranges::replace(groups, ':', ',');
  return groups;
}

/// A word as a shell reads it back.
std::string quoted(const std::string& word) {
  const bool is_safe = std::ranges::all_of(word, [](unsigned char c) { return std::isalnum(c) || std::string_view("-_./,:+%@=").contains(c); });
  if (is_safe && !word.empty()) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

/// What was typed, with the losses that end every lookup instead of those of chance.
std::string command_for(const results::ScriptedLoss& loss, const CLI::App& typed) {
  auto arguments = typed_lab_arguments(typed);
  for (const char* name : {"only", "loss", "burst", "reorder", "duplicate", "corrupt"}) arguments.erase(name);
  if (loss.client_groups != experiment::Setup().client_groups) arguments["group"] = plain(loss.client_groups);
  arguments["chain-bytes"] = std::to_string(loss.chain_bytes);
  arguments["drop"] = loss.drop;
  std::string out = std::format("doxlab explain --sample {}/0", loss.transport);
  for (const auto& [name, value] : arguments) out += value == "true" ? std::format(" --{}", name) : std::format(" --{} {}", name, quoted(value));
  return out;
}

int run(const ReproOptions& options, const Invocation& invocation) {
  options.output.check();
  const auto setup = setup_for(options);
  const auto path = capture_path(options, setup);
  if (!options.capture.empty()) check_output(path);
  bool is_written = false;
  const experiment::SampleHandler on_failure = [&](const experiment::Sample& sample) {
    is_written = true;
    write_capture(path, sample, setup, invocation.command_line);
  };
  auto result = (options.find ? find : reproduce)(options, invocation, setup, on_failure);
  if (result.every_time) result.every_time_command = command_for(*result.every_time, *options.command);
  if (!is_written && !options.capture.empty()) std::println(stderr, "doxlab: {}: not written, nothing failed", path);
  options.output.publish(results::to_json(result), report::repro_text(result));
  if (!result.complete) return kInterrupted;
  if (result.verdict == "affected") return kAffected;
  return result.verdict == "not affected" ? kOk : kNotDecided;
}

}  // namespace

Command add_repro(CLI::App& parent) {
  auto* command = parent.add_subcommand("repro", "Whether a server has a known fault, brought about by chance and by chosen losses");
  auto options = std::make_shared<ReproOptions>();
  options->command = command;
  command->add_option("FAULT", options->fault, "nginx-1616: lost Initial CRYPTO data of a server is never sent again")
      ->check(CLI::IsMember({"nginx-1616"}));
  command->add_flag("--find", options->find, "Instead: lose every packet of a lookup in turn, and say which losses end it");
  command->add_flag("--pairs", options->pairs, "With --find: also every two packets");
  command->add_option("-n,--repetitions", options->repetitions, "Handshakes for each chain, loss and key exchange")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--capture", options->capture,
                      "File for the packets of the first lookup that fails (default repro-SUBJECT.pcapng, here)");
  options->output.add_to(*command);
  options->lab.add_to(*command);
  command->footer(
      "Examples:\n"
      "  doxlab repro nginx-1616                          nginx on this machine; two or three minutes, longer where handshakes fail\n"
      "  doxlab repro nginx-1616 --subject my-nginx.toml  a build of one's own (docs/subjects.md)\n"
      "  doxlab repro nginx-1616 --subject standin-lost-initial   what the fault looks like\n"
      "  doxlab repro --find --subject knot --only doq --pairs\n\n"
      "Exit codes: 0 not affected, 1 could not run, 2 wrong usage, 3 affected, 4 not decided, 130 interrupted.");
  return {command, [options](const Invocation& invocation) { return run(*options, invocation); }};
}

}  // namespace doxlab::app
