#pragma once
/// The options of LabOptions by their names on the command line: what a sweep varies, and what results say of
/// how they were made. It knows no single option: one that LabOptions gains is one here.

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "experiment/setup.hpp"
#include "results/shard.hpp"

namespace doxlab::app {

/// Name without dashes, value as typed ("true" for a flag).
using LabArguments = std::map<std::string, std::string>;

/// --loss of `doxlab loss` and `doxlab sweep`, unless given.
inline constexpr double kDefaultLossPercent = 2;

/// What was typed of LabOptions' options on a command line that has them.
LabArguments typed_lab_arguments(const CLI::App& command);
/// Every option of LabOptions with its value: as typed, or its default; empty where it has none. Numbers are
/// spelled in one way ("2.0" is "2"), and of a file there is its checksum, so that equal values mean equal
/// settings.
LabArguments all_lab_arguments(const LabArguments& typed);
/// The name that an option is known by: "transport" is "only". Errors: UsageError, with the names that there
/// are.
std::string lab_argument_name(std::string_view name);
/// What `doxlab loss` would make of these. Errors: UsageError naming the option and the value.
experiment::Setup lab_setup(const LabArguments& typed);

/// "I/K" with I from 0 to K-1. Errors: UsageError.
results::Shard parse_shard(const std::string& text);
/// Adds --shard.
void add_shard_option(CLI::App& command, std::string& text);

}  // namespace doxlab::app
