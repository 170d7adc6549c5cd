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

namespace doxlab::app {
namespace {

struct SuiteOptions {
  std::string folder = "out";
  std::size_t repetitions = 9, loss_repetitions = 300;
};

experiment::Setup as_published() {
  experiment::Setup out;
  experiment::set_as_published(out);
  return out;
}

/// One experiment: its title, the file of its results, and what runs it.
struct Part {
  const char* title;
  const char* file;
  /// JSON, text, and whether it came to its end.
  std::function<std::tuple<std::string, std::string, bool>(const SuiteOptions&, const Invocation&)> run;
};

Part packets(const char* title, const char* file, experiment::Setup setup) {
  return {title, file, [setup](const SuiteOptions& options, const Invocation& invocation) {
            const auto run = experiment::run_packets(setup, options.repetitions, invocation.command_line, show_progress,
                                                     invocation.stop);
            return std::tuple(results::to_json(run), report::packets_text(run).render(style_of(stdout)), run.complete);
          }};
}

std::vector<Part> parts() {
  std::vector<Part> out;
  out.push_back(packets("Clean path, post-quantum key exchange", "packets.json", {}));
  out.push_back(packets("As published: Retry on DoH3", "packets-as-published.json", as_published()));
  out.push_back({"Post-quantum against classical key exchange", "pq.json",
                 [](const SuiteOptions& options, const Invocation& invocation) {
                   const auto run = experiment::run_pq({}, {"X25519", "X25519MLKEM768"}, options.repetitions,
                                                       invocation.command_line, show_progress, invocation.stop);
                   return std::tuple(results::to_json(run), report::pq_text(run).render(style_of(stdout)), run.complete);
                 }});
  out.push_back({"What a lookup starts from", "warm.json", [](const SuiteOptions&, const Invocation& invocation) {
                   const auto run = experiment::run_warm({}, 3, invocation.command_line, show_progress, invocation.stop);
                   return std::tuple(results::to_json(run), report::warm_text(run).render(style_of(stdout)), run.complete);
                 }});
  out.push_back({"Loss of 2% each way, as published", "loss.json",
                 [](const SuiteOptions& options, const Invocation& invocation) {
                   auto setup = as_published();
                   setup.link.loss_probability = 0.02;
                   const auto status = [](const experiment::SamplerStatus& s) { show_progress(s.done, s.of); };
                   const auto run = experiment::run_loss(setup, options.loss_repetitions, std::nullopt, {},
                                                         invocation.command_line, {{}, status}, invocation.stop);
                   return std::tuple(results::to_json(run), report::loss_text(run).render(style_of(stdout)), run.complete);
                 }});
  out.push_back({"Every packet lost in turn", "dropmap.json", [](const SuiteOptions&, const Invocation& invocation) {
                   const auto run = experiment::run_dropmap({}, {}, invocation.command_line, show_progress, invocation.stop);
                   return std::tuple(results::to_json(run), report::dropmap_text(run).render(style_of(stdout)), run.complete);
                 }});
  return out;
}

int run(const SuiteOptions& options, const Invocation& invocation) {
  std::filesystem::create_directories(options.folder);
  for (const auto& part : parts()) {
    std::println("== {} ==\n", part.title);
    const auto [json, text, complete] = part.run(options, invocation);
    const auto path = std::format("{}/{}", options.folder, part.file);
    write_output(path, json);
    std::println("{}Results: {}\n", text, path);
    std::fflush(stdout);
    if (!complete) return kInterrupted;
  }
  return kOk;
}

}  // namespace

Command add_suite(CLI::App& parent) {
  auto* command = parent.add_subcommand("suite", "Every experiment with its default settings; what ./run does without arguments");
  auto options = std::make_shared<SuiteOptions>();
  command->add_option("--out", options->folder, "Folder for the results")->capture_default_str();
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
