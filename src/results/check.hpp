#pragma once
/// The records of `doxlab check`: which of the assertions about a run hold.

#include <string>
#include <vector>

#include "results/schema_version.hpp"

namespace doxlab::results {

/// One assertion about one transport in one experiment.
struct CheckedAssertion {
  std::string rule;                ///< its name, or what it says
  std::string experiment;          ///< "loss", "warm/reused", ...; empty: nothing was found to check
  std::string transport;           ///< "doq"; empty: as above
  std::string asserted;            ///< "p99 <= 400 ms"
  bool holds = false;
  /// One line: what was measured, with its interval and n, or why it could not be checked.
  std::string evidence;
};

struct CheckRun {
  int schema_version = kSchemaVersion;
  std::string experiment = "check";
  std::string results_file, rules_file;
  std::string command_line;        ///< of the run that was checked
  std::string started;
  std::vector<CheckedAssertion> assertions;

  bool holds() const;              ///< all of them, and there is at least one
};

std::string to_json(const CheckRun& run);
/// JUnit's XML as Jenkins, GitLab and GitHub read it: a test case for each assertion.
std::string to_junit(const CheckRun& run);

}  // namespace doxlab::results
