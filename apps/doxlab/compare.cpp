#include "compare/compare.hpp"

#include <algorithm>
#include <memory>

#include "commands.hpp"
#include "output.hpp"
#include "report/comparison.hpp"
#include "study_file.hpp"

namespace doxlab::app {
namespace {

struct CompareOptions {
  std::string a, b;
  Output output;
  double noise_ms = compare::kNoiseMs;
  bool all = false;
};

int run(const CompareOptions& options, const Invocation&) {
  options.output.check();
  auto comparison = compare::compare(read_study(options.a), read_study(options.b), options.noise_ms);
  comparison.a = options.a;
  comparison.b = options.b;
  options.output.publish(results::to_json(comparison), report::comparison_text(comparison, options.all));
  const bool compared = std::ranges::any_of(comparison.experiments, [](const auto& it) { return it.obstacles.empty(); });
  return compared ? kOk : kFailed;
}

}  // namespace

Command add_compare(CLI::App& parent) {
  auto* command = parent.add_subcommand("compare", "What differs between two runs, beyond noise");
  auto options = std::make_shared<CompareOptions>();
  command->add_option("A", options->a, "Results of the first run (--json of packets or loss, or results.json)")->required();
  command->add_option("B", options->b, "Results of the second")->required();
  command->add_option("--noise", options->noise_ms, "Differences of times below this are the machine's, ms")
      ->check(number_from(0.0, 10000.0))
      ->capture_default_str();
  command->add_flag("--all", options->all, "Show every quantity, also what is the same");
  options->output.add_to(*command);
  command->footer(
      "Examples:\n"
      "  doxlab packets --json before.json; doxlab packets --chain-bytes 1200 --json after.json\n"
      "  doxlab compare before.json after.json\n\n"
      "Compares only what was measured under the same conditions (link, losses, seed, question, kernel settings) and says\n"
      "what those are otherwise. Exits with 0 if something could be compared, whatever the differences, with 1 if not; to fail\n"
      "on a difference use doxlab check.");
  return {command, [options](const Invocation& invocation) { return run(*options, invocation); }, [] { return false; }};
}

}  // namespace doxlab::app
