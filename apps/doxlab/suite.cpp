#include <unistd.h>

#include <filesystem>
#include <format>
#include <memory>
#include <print>

#include "commands.hpp"
#include "experiment/packets.hpp"
#include "report/packets.hpp"

namespace doxlab::app {
namespace {

struct Part {
  const char* title;
  const char* file;
  experiment::Setup setup;
};

/// The questions that are asked by default, each differing from the first in one thing.
std::vector<Part> parts() {
  std::vector<Part> out;
  out.push_back({"Clean path, post-quantum key exchange", "packets.json", {}});
  out.push_back({"As published: Retry on DoH3", "packets-as-published.json", {}});
  experiment::set_as_published(out.back().setup);
  out.push_back({"Classical key exchange: the ClientHello is one datagram, so 3x of it is less than the chain",
                 "packets-x25519.json", {}});
  out.back().setup.client_groups = "*X25519";
  return out;
}

int run(const std::string& folder, std::size_t repetitions, const Invocation& invocation) {
  std::filesystem::create_directories(folder);
  for (const auto& part : parts()) {
    std::println("== {} ==\n", part.title);
    const auto result = experiment::run_packets(part.setup, repetitions, invocation.command_line, {}, invocation.stop);
    const auto path = std::format("{}/{}", folder, part.file);
    write_output(path, results::to_json(result));
    std::println("{}Results: {}\n", report::packets_text(result), path);
    if (!result.complete) return kInterrupted;
  }
  return kOk;
}

}  // namespace

Command add_suite(CLI::App& parent) {
  struct Options {
    std::string folder = "out";
    std::size_t repetitions = 9;
  };
  auto* command = parent.add_subcommand("suite", "Every experiment with its default settings; what ./run does without arguments");
  auto options = std::make_shared<Options>();
  command->add_option("--out", options->folder, "Folder for the results")->capture_default_str();
  command->add_option("-n,--repetitions", options->repetitions, "Lookups for each transport")->capture_default_str();
  return {command, [options](const Invocation& invocation) {
            return run(options->folder, options->repetitions, invocation);
          }};
}

}  // namespace doxlab::app
