#pragma once
/// Every prerequisite of a measurement, checked by doing what a measurement does.

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>

#include "experiment/setup.hpp"
#include "results/preflight.hpp"

namespace doxlab::experiment {

/// What is to be checked, and what is known of how the process was started.
struct PreflightOptions {
  /// The run that is asked for; its losses are left out, since what is lost by chance tells nothing. Empty: the server is
  /// none, for the reason in `server_error`.
  std::optional<Setup> setup;
  std::string server_error;
  bool is_root = true;             ///< no user namespace was needed
  std::string namespace_error;     ///< why there is no user namespace; empty: there is one, or none was needed
  std::size_t lookups = 5;         ///< for each transport
};

/// Makes all checks in order; what needs one that failed is skipped. Errors: none; what fails is in the result.
results::PreflightRun run_preflight(const PreflightOptions& options, const std::string& command_line, std::stop_token stop);

}  // namespace doxlab::experiment
