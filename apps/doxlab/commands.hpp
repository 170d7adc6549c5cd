#pragma once
/// The subcommands. Each adds itself to the command line and returns what main calls when it was chosen;
/// the returned function yields an ExitCode.

#include <CLI/CLI.hpp>
#include <functional>

#include "options.hpp"

namespace doxlab::app {

using Run = std::function<int(const Invocation&)>;

struct Command {
  CLI::App* app = nullptr;
  Run run;
  /// Makes namespaces and devices: root, or a user namespace where the machine allows it. Asked after parsing.
  std::function<bool()> needs_lab = [] { return true; };
  /// Runs a command of the user's, given after "--". It takes care of signals itself, so that its Invocation's
  /// `stop` is never requested, and its own failures are kWrapperFailed.
  bool runs_command = false;
  /// Called after parsing, while there is one thread; may be empty.
  std::function<void()> before_threads{};
};

Command add_preflight(CLI::App& parent);
Command add_suite(CLI::App& parent);
Command add_packets(CLI::App& parent);
Command add_loss(CLI::App& parent);
Command add_pq(CLI::App& parent);
Command add_advise(CLI::App& parent);
Command add_dropmap(CLI::App& parent);
Command add_repro(CLI::App& parent);
Command add_warm(CLI::App& parent);
Command add_sweep(CLI::App& parent);
Command add_merge(CLI::App& parent);
Command add_report(CLI::App& parent);
Command add_link(CLI::App& parent);
Command add_explain(CLI::App& parent);
Command add_compare(CLI::App& parent);
Command add_check(CLI::App& parent);
Command add_schema(CLI::App& parent);
Command add_query(CLI::App& parent);
Command add_serve(CLI::App& parent);
Command add_man(CLI::App& parent);
Command add_completion(CLI::App& parent);

}  // namespace doxlab::app
