#pragma once
/// The records of the warm experiment: packets runs that differ only in what a lookup starts from.

#include <string>
#include <vector>

#include "results/run.hpp"

namespace doxlab::results {

struct WarmCase {
  std::string name;                             ///< "cold", "reused", "0-RTT rejected", "Retry, token" ...
  PacketsRun run;
};

struct WarmRun {
  int schema_version = kSchemaVersion;
  std::string experiment = "warm";
  std::string command_line;
  bool complete = true;
  std::vector<WarmCase> cases;
};

std::string to_json(const WarmRun& run);

}  // namespace doxlab::results
