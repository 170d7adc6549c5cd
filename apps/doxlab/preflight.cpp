#include "experiment/preflight.hpp"

#include <memory>

#include "commands.hpp"
#include "output.hpp"
#include "net/user_namespace.hpp"
#include "report/preflight.hpp"

namespace doxlab::app {
namespace {

struct PreflightCommand {
  LabOptions lab;
  experiment::PreflightOptions checks;
  Output output;
};

/// What main does for other subcommands; here it is the first thing to be checked.
void enter_user_namespace(experiment::PreflightOptions& checks) {
  checks.is_root = net::is_privileged();
  try {
    net::enter_user_namespace_if_unprivileged();
  } catch (const std::runtime_error& error) {
    checks.namespace_error = error.what();
  }
}

int run(PreflightCommand& options, const Invocation& invocation) {
  options.output.check();
  try {
    options.checks.setup = options.lab.setup();
  } catch (const UsageError&) {
    throw;
  } catch (const std::runtime_error& error) {  // the subject is not there
    options.checks.server_error = error.what();
  }
  const auto result = experiment::run_preflight(options.checks, invocation.command_line, invocation.stop);
  options.output.publish(results::to_json(result), report::preflight_text(result));
  if (!result.complete) return kInterrupted;
  return result.passes ? kOk : kFailed;
}

}  // namespace

Command add_preflight(CLI::App& parent) {
  auto* command = parent.add_subcommand("preflight", "Whether this machine has what a measurement needs, and what to do if not");
  auto options = std::make_shared<PreflightCommand>();
  add_repetitions_option(*command, options->checks.lookups, "transport", 1000);
  options->output.add_to(*command);
  options->lab.add_to(*command);
  command->footer(
      "Examples:\n"
      "  doxlab preflight                               the machine, the resolver, every transport\n"
      "  doxlab preflight --subject nginx --only dot    before measuring that server\n"
      "  doxlab preflight --ipv6 --mtu 1280 && doxlab loss --ipv6 --mtu 1280\n"
      "  doxlab preflight --json - | jq '.checks[] | select(.status != \"ok\")'\n\n"
      "Takes the options of the run that it is for; losses are left out of its own lookups.\n"
      "Exits with 0 if nothing failed, 1 if something did, 2 for wrong usage. Warnings fail nothing.");
  return {.app = command,
          .run = [options](const Invocation& invocation) { return run(*options, invocation); },
          .needs_lab = [] { return false; },
          .before_threads = [options] { enter_user_namespace(options->checks); }};
}

}  // namespace doxlab::app
