#pragma once
/// The option of a client that others wrote.

#include <CLI/CLI.hpp>
#include <string>

#include "experiment/setup.hpp"

namespace doxlab::app {

class ClientOptions {
 public:
  /// Adds it to a subcommand that has LabOptions. The object must outlive the parsing.
  void add_to(CLI::App& command);
  bool is_given() const { return name_ != "builtin"; }
  const std::string& name() const { return name_; }
  /// Makes the setup one of that client. Errors: UsageError naming an option of doxlab's own client that this one cannot follow,
  /// or a transport that it lacks; std::runtime_error if there is no such client, or its program is not here.
  void apply(experiment::Setup& setup) const;

 private:
  const CLI::App* command_ = nullptr;
  std::string name_ = "builtin";
};

}  // namespace doxlab::app
