#include "compare/check.hpp"

#include <format>
#include <memory>

#include "commands.hpp"
#include "files.hpp"
#include "output.hpp"
#include "report/check.hpp"
#include "study_file.hpp"
#include "trace/causes.hpp"
#include "trace/detectors.hpp"

namespace doxlab::app {
namespace {

struct CheckOptions {
  std::string results, rules, junit;
  Output output;
  bool all = false;
};

compare::Vocabulary vocabulary() {
  compare::Vocabulary out{.causes = trace::cause_names(), .findings = {}};
  for (std::size_t i = 0; i < trace::kFindingCount; ++i)
    out.findings.emplace_back(trace::to_string(static_cast<trace::Finding>(i)));
  return out;
}

int run(const CheckOptions& options, const Invocation&) {
  options.output.check();
  check_output(options.junit);
  if (options.output.has_json_on_standard_output() && options.junit == "-") throw UsageError("--json and --junit cannot both go to standard output");
  const auto rules = compare::parse_rules(read_file(options.rules), vocabulary());
  if (!rules) throw UsageError(std::format("{}: {}", options.rules, rules.error().message));
  auto checked = compare::check(read_study(options.results), *rules);
  checked.results_file = options.results;
  checked.rules_file = options.rules;
  if (!options.junit.empty()) write_output(options.junit, results::to_junit(checked));
  const auto text = report::check_text(checked, options.all);
  if (options.junit == "-") std::fputs(text.to_text().c_str(), stderr);
  else options.output.publish(results::to_json(checked), text);
  return checked.holds() ? kOk : kFailed;
}

}  // namespace

Command add_check(CLI::App& parent) {
  auto* command = parent.add_subcommand("check", "Assertions about a run, for continuous integration");
  auto options = std::make_shared<CheckOptions>();
  command->add_option("RESULTS", options->results, "Results (--json of an experiment, or results.json)")->required();
  command->add_option("--rules", options->rules, "TOML file with the rules")->required();
  command->add_option("--junit", options->junit, "Write JUnit XML to this file, - for standard output");
  command->add_flag("--all", options->all, "Show also the assertions that hold");
  options->output.add_to(*command);
  command->footer(
      "A file of rules:\n"
      "  [[rule]]\n"
      "  name = \"DoQ stays at two round trips\"\n"
      "  transports = [\"doq\"]\n"
      "  round_trips = 2\n"
      "  bytes_total = \"<= 12000 bytes\"\n"
      "  no_cause = [\"amplification_limit\"]\n\n"
      "Example:\n"
      "  doxlab packets --json out.json && doxlab check out.json --rules rules.toml --junit junit.xml\n\n"
      "Exits with 0 if every assertion holds, 1 if one does not or cannot be checked, 2 if the rules are wrong.");
  return {command, [options](const Invocation& invocation) { return run(*options, invocation); }, [] { return false; }};
}

}  // namespace doxlab::app
