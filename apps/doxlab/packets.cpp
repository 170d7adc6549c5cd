#include <memory>
#include <print>

#include "commands.hpp"
#include "experiment/packets.hpp"
#include "progress.hpp"
#include "report/packets.hpp"

namespace doxlab::app {
namespace {

struct PacketsOptions {
  LabOptions lab;
  std::size_t repetitions = 9;
  std::string json;
};

int run(const PacketsOptions& options, const Invocation& invocation) {
  check_output(options.json);
  const auto result = experiment::run_packets(options.lab.setup(), options.repetitions, invocation.command_line,
                                              show_progress, invocation.stop);
  if (!options.json.empty()) write_output(options.json, results::to_json(result));
  // With JSON on standard output the table would be in its way.
  std::print(options.json == "-" ? stderr : stdout, "{}", report::packets_text(result));
  if (!result.complete) return kInterrupted;
  for (const auto& [name, summary] : result.results)
    if (summary.samples == 0) return kFailed;
  return kOk;
}

}  // namespace

Command add_packets(CLI::App& parent) {
  auto* command = parent.add_subcommand("packets", "Round trips, packets and bytes of one cold lookup, per transport");
  auto options = std::make_shared<PacketsOptions>();
  command->add_option("-n,--repetitions", options->repetitions, "Lookups for each transport")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--json", options->json, "Write the results as JSON to this file; - is standard output");
  options->lab.add_to(*command);
  command->footer(
      "Examples:\n"
      "  doxlab packets --as-published --json out.json\n"
      "  doxlab packets --only doq,doh3 --group X25519 --chain-bytes 1200\n"
      "  doxlab packets --delay 75 --ipv6 -n 3\n\n"
      "Exits with 1 if a transport got no answer at all.");
  return {command, [options](const Invocation& invocation) { return run(*options, invocation); }};
}

}  // namespace doxlab::app
