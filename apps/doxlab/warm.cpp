#include <memory>
#include <print>

#include "commands.hpp"
#include "experiment/warm.hpp"
#include "files.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report/warm.hpp"

namespace doxlab::app {
namespace {

struct WarmOptions {
  LabOptions lab;
  std::size_t repetitions = 5;
  Output output;
};

int run(const WarmOptions& options, const Invocation& invocation) {
  options.output.check();
  const auto result = experiment::run_warm(options.lab.setup(), options.repetitions, invocation.command_line,
                                           show_progress, invocation.stop);
  options.output.publish(results::to_json(result), report::warm_text(result));
  if (!result.complete) return kInterrupted;
  for (const auto& one : result.cases)
    for (const auto& [name, summary] : one.run.results)
      if (summary.samples == 0) return kFailed;
  return kOk;
}

}  // namespace

Command add_warm(CLI::App& parent) {
  auto* command = parent.add_subcommand("warm", "Lookups by what they start from: open connection, ticket, 0-RTT, token, Fast Open");
  auto options = std::make_shared<WarmOptions>();
  add_repetitions_option(*command, options->repetitions, "transport and case", 100000);
  options->output.add_to(*command);
  options->lab.add_to(*command);
  command->footer(
      "Examples:\n"
      "  doxlab warm\n"
      "  doxlab warm --only doq,doh3 --group X25519      classical: resumption also ends the 3x stall\n"
      "  doxlab packets --start 0rtt --reject-early-data one case alone, in detail\n\n"
      "Exits with 1 if a case got no answer at all on a transport.");
  return {command, [options](const Invocation& invocation) { return run(*options, invocation); }};
}

}  // namespace doxlab::app
