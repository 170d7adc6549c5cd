#include <memory>
#include <print>
#include <utility>

#include "commands.hpp"
#include "experiment/pq.hpp"
#include "files.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report/pq.hpp"

namespace doxlab::app {
namespace {

struct PqOptions {
  LabOptions lab;
  std::size_t repetitions = 9;
  std::string groups = "X25519,X25519MLKEM768";
  Output output;
};

int run(const PqOptions& options, const Invocation& invocation) {
  auto setup = options.lab.setup();
  std::erase_if(setup.transports, [](Transport t) { return !has_tls(t); });
  if (setup.transports.empty()) throw UsageError("--only: none of these transports has a TLS key exchange");
  auto groups = split_list(options.groups);
  for (auto& group : groups) {
    const auto typed = std::exchange(group, group_name(group));
    check_groups(group, typed);
  }
  if (groups.empty()) throw UsageError("--groups: no group given");
  options.output.check();
  const auto result = experiment::run_pq(setup, groups, options.repetitions, invocation.command_line,
                                         show_progress, invocation.stop);
  options.output.publish(results::to_json(result), report::pq_text(result));
  if (!result.complete) return kInterrupted;
  for (const auto& one : result.cases)
    for (const auto& [name, summary] : one.results)
      if (summary.samples == 0) return kFailed;
  return kOk;
}

}  // namespace

Command add_pq(CLI::App& parent) {
  auto* command = parent.add_subcommand("pq", "Post-quantum against classical key exchange, per transport");
  auto options = std::make_shared<PqOptions>();
  command->add_option("--groups", options->groups, "Groups to compare, each offered alone (comma list)")
      ->capture_default_str();
  add_repetitions_option(*command, options->repetitions, "transport and group", 100000);
  options->output.add_to(*command);
  options->lab.add_to(*command);
  command->footer(
      "Examples:\n"
      "  doxlab pq                                      X25519MLKEM768 against X25519\n"
      "  doxlab pq --groups X25519,X25519MLKEM768,P-256,SecP256r1MLKEM768,MLKEM768 --json pq.json\n"
      "  doxlab pq --loss 2 -n 500 --only doq           pairs meet the same losses\n\n"
      "Exits with 1 if a group got no answer at all on a transport.");
  return {command, [options](const Invocation& invocation) { return run(*options, invocation); }};
}

}  // namespace doxlab::app
