#pragma once
/// Files that are named on the command line, and how the results of an experiment leave the program.

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

namespace doxlab::app {

/// Reads a whole file. Errors: UsageError with the system's reason.
std::string read_file(const std::string& path);
/// Called before anything is measured: whether write_output will find a place for `path`; empty and "-" pass.
/// Errors: std::runtime_error with the system's reason.
void check_output(const std::string& path);
/// Writes a whole file, or standard output for "-". A file appears under its name only when it is complete; a
/// device or pipe is written as it is. Errors: std::runtime_error with the system's reason.
void write_output(const std::string& path, const std::string& content);

/// Adds -n: `default` is what `value` holds, `what` completes "Lookups for each ...".
void add_repetitions_option(CLI::App& command, std::size_t& value, const std::string& what, std::size_t most);
/// Adds --json.
void add_json_option(CLI::App& command, std::string& path);

}  // namespace doxlab::app
