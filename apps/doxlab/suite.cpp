#include <chrono>
#include <filesystem>
#include <format>
#include <memory>
#include <print>

#include "commands.hpp"
#include "experiment/dropmap.hpp"
#include "experiment/loss.hpp"
#include "experiment/packets.hpp"
#include "experiment/pq.hpp"
#include "experiment/warm.hpp"
#include "files.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report/dropmap.hpp"
#include "report/loss.hpp"
#include "report/packets.hpp"
#include "report/pq.hpp"
#include "report/warm.hpp"
#include "report_file.hpp"

namespace doxlab::app {
namespace {

struct SuiteOptions {
  std::string folder = "out";
  std::size_t repetitions = 9, loss_repetitions = 300;
};

constexpr std::size_t kWarmRepetitions = 3;

experiment::Setup as_published() {
  experiment::Setup out;
  experiment::set_as_published(out);
  return out;
}

/// One experiment: its title, the command that makes it alone, and what runs it into the study. Gives the text to show
/// and whether it came to its end.
struct Part {
  const char* title;
  std::function<std::string(const SuiteOptions&)> command;
  std::function<std::pair<std::string, bool>(results::Study&, const SuiteOptions&, const Invocation&)> run;
};

Part packets(const char* title, const char* option, std::optional<results::PacketsRun> results::Study::* place,
             experiment::Setup setup) {
  return {title, [option](const SuiteOptions& options) { return std::format("doxlab packets{} -n {}", option, options.repetitions); },
          [place, setup](results::Study& study, const SuiteOptions& options, const Invocation& invocation) {
            const auto& run = (study.*place)
                                  .emplace(experiment::run_packets(setup, options.repetitions, invocation.command_line,
                                                                   show_progress, invocation.stop));
            return std::pair(report::packets_text(run).render(style_of(stdout)), run.complete);
          }};
}

std::vector<Part> parts() {
  std::vector<Part> out;
  out.push_back(packets("Clean path, post-quantum key exchange", "", &results::Study::packets, {}));
  out.push_back(packets("As published: Retry on DoH3", " --as-published", &results::Study::as_published, as_published()));
  out.push_back({"Post-quantum against classical key exchange",
                 [](const SuiteOptions& options) { return std::format("doxlab pq -n {}", options.repetitions); },
                 [](results::Study& study, const SuiteOptions& options, const Invocation& invocation) {
                   const auto& run = study.pq.emplace(
                       experiment::run_pq({}, {"X25519", "X25519MLKEM768"}, options.repetitions,
                                          invocation.command_line, show_progress, invocation.stop));
                   return std::pair(report::pq_text(run).render(style_of(stdout)), run.complete);
                 }});
  out.push_back({"What a lookup starts from", [](const SuiteOptions&) { return std::format("doxlab warm -n {}", kWarmRepetitions); },
                 [](results::Study& study, const SuiteOptions&, const Invocation& invocation) {
                   const auto& run = study.warm.emplace(
                       experiment::run_warm({}, kWarmRepetitions, invocation.command_line, show_progress, invocation.stop));
                   return std::pair(report::warm_text(run).render(style_of(stdout)), run.complete);
                 }});
  out.push_back({"Loss of 2% each way, as published",
                 [](const SuiteOptions& options) {
                   return std::format("doxlab loss --as-published --loss 2 -n {}", options.loss_repetitions);
                 },
                 [](results::Study& study, const SuiteOptions& options, const Invocation& invocation) {
                   auto setup = as_published();
                   setup.link.loss_probability = 0.02;
                   const auto status = [](const experiment::SamplerStatus& s) { show_progress(s.done, s.of); };
                   const auto& run = study.loss.emplace(
                       experiment::run_loss(setup, options.loss_repetitions, std::nullopt, {},
                                            invocation.command_line, {{}, status}, invocation.stop));
                   return std::pair(report::loss_text(run).render(style_of(stdout)), run.complete);
                 }});
  out.push_back({"Every packet lost in turn", [](const SuiteOptions&) { return std::string("doxlab dropmap"); },
                 [](results::Study& study, const SuiteOptions&, const Invocation& invocation) {
                   const auto& run = study.dropmap.emplace(
                       experiment::run_dropmap({}, {}, invocation.command_line, show_progress, invocation.stop));
                   return std::pair(report::dropmap_text(run).render(style_of(stdout)), run.complete);
                 }});
  return out;
}

int run(const SuiteOptions& options, const Invocation& invocation) {
  std::filesystem::create_directories(options.folder);
  const auto json_path = options.folder + "/results.json", report_path = options.folder + "/report.html";
  check_output(json_path);
  results::Study study;
  study.command_line = invocation.command_line;
  const auto start = std::chrono::steady_clock::now();
  study.started = std::format("{:%FT%TZ}", std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
  for (const auto& part : parts()) {
    std::println("== {} ==\n", part.title);
    const auto [text, complete] = part.run(study, options, {part.command(options), invocation.stop, {}});
    std::println("{}", text);
    std::fflush(stdout);
    study.complete = complete;
    if (!complete) break;
  }
  study.duration_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  write_output(json_path, results::to_json(study));
  std::println("Results: {}", json_path);
  write_report(report_path, study);
  return study.complete ? kOk : kInterrupted;
}

}  // namespace

Command add_suite(CLI::App& parent) {
  auto* command = parent.add_subcommand("suite", "Every experiment with its default settings; what ./run does without arguments");
  auto options = std::make_shared<SuiteOptions>();
  command->add_option("--out", options->folder, "Folder for results.json and report.html")->capture_default_str();
  command->add_option("-n,--repetitions", options->repetitions, "Lookups for each transport on a clean path")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--loss-repetitions", options->loss_repetitions, "Lookups for each transport under loss")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str();
  command->footer("Example:\n  doxlab suite --out results --loss-repetitions 2000\n\nAbout a minute with the defaults.");
  return {command, [options](const Invocation& invocation) { return run(*options, invocation); }};
}

}  // namespace doxlab::app
