#include "experiment/advise.hpp"

#include <memory>

#include "commands.hpp"
#include "files.hpp"
#include "lab_arguments.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report/advice.hpp"

namespace doxlab::app {
namespace {

struct AdviseOptions {
  LabOptions lab{kDefaultLossPercent};
  std::size_t repetitions = 400;
  Output output;
};

int run(const AdviseOptions& options, const Invocation& invocation) {
  options.output.check();
  const auto result = experiment::run_advise(options.lab.setup(), options.repetitions, invocation.command_line, show_progress,
                                             invocation.stop);
  options.output.publish(results::to_json(result), report::advice_text(result));
  if (!result.complete) return kInterrupted;
  for (const auto& [name, figures] : result.before)
    if (!figures.ms) return kFailed;
  return kOk;
}

}  // namespace

Command add_advise(CLI::App& parent) {
  auto* command = parent.add_subcommand("advise", "What to change in a setup, and what each change gains, measured");
  auto options = std::make_shared<AdviseOptions>();
  add_repetitions_option(*command, options->repetitions, "transport and change under loss", 10000000);
  options->output.add_to(*command);
  options->lab.add_to(*command);
  command->footer(
      "Each finding (doxlab explain) is followed by the same lookups with one thing changed, with the same losses.\n\n"
      "Examples:\n"
      "  doxlab advise                                  the default setup under 2% loss\n"
      "  doxlab advise --only doh3 --retry always       what Retry costs\n"
      "  doxlab advise --only doq --group X25519        a chain that does not fit, and three ways out\n"
      "  doxlab advise --only dot,doq --start resumed   early data\n"
      "  doxlab advise --subject nginx                  another's server: what its handshake may grow by\n"
      "  doxlab advise --loss 0                         round trips and bytes alone\n\n"
      "Ctrl-C ends it with what was measured. Exits with 1 if a transport got no answer at all.");
  return {command, [options](const Invocation& invocation) { return run(*options, invocation); }};
}

}  // namespace doxlab::app
