#pragma once
/// The records of `doxlab preflight`: what a measurement needs, and whether this machine has it.

#include <cstdint>
#include <string>
#include <vector>

#include "results/schema_version.hpp"

namespace doxlab::results {

/// One prerequisite.
struct PreflightCheck {
  std::string name;                ///< "tun", "clock", "transport doq"
  /// "ok"; "warning": a measurement can be made, with what `why` says; "failed": it cannot, or its figures would be wrong;
  /// "skipped": it needs what has failed before.
  std::string status;
  std::string found;               ///< what this machine says, in one line
  std::string why, action;         ///< unless ok: why it matters, what to do
};

struct PreflightRun {
  int schema_version = kSchemaVersion;
  std::string experiment = "preflight";
  std::string command_line;
  std::string started;             ///< UTC, ISO 8601
  double duration_s = 0;
  bool complete = true;            ///< false: interrupted
  bool passes = false;             ///< nothing failed, and all was checked
  std::vector<PreflightCheck> checks;  ///< in the order in which they were made
};

std::string to_json(const PreflightRun& run);

}  // namespace doxlab::results
