#pragma once
/// The manual page and shell completion, made of the definition of the command line, so that they cannot differ from it.

#include <CLI/CLI.hpp>
#include <string>

namespace doxlab::app {

/// doxlab(1) in man(7).
std::string manual_page(const CLI::App& parser);

/// A script for the shell. zsh runs that of bash through its bashcompinit.
std::string bash_completion(const CLI::App& parser);
std::string zsh_completion(const CLI::App& parser);
std::string fish_completion(const CLI::App& parser);

}  // namespace doxlab::app
