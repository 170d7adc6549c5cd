#pragma once
/// What the person or program in front of doxlab gets to see.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "report/document.hpp"

namespace doxlab::app {

/// --json and --format.
class Output {
 public:
  void add_to(CLI::App& command);
  /// Called before anything is measured. Errors: as check_output().
  void check() const;
  /// `json` to the file of --json, and the document to standard output; with JSON there, to standard error. Errors: as
  /// write_output().
  void publish(const std::string& json, const report::Document& document) const;
  /// The two halves of publish(), for a command that shows before it has all.
  void show(const report::Document& document) const;
  void write(const std::string& json) const;
  bool has_json_on_standard_output() const { return json_ == "-" || format_ == "json"; }
  bool wants_json() const { return !json_path().empty(); }
  /// Where the results as JSON go; empty: nowhere.
  std::string json_path() const { return json_.empty() && format_ == "json" ? "-" : json_; }

 private:
  std::string json_, format_ = "table";
};

/// Text for a terminal as wide as it is and with colour unless NO_COLOR says otherwise; for a file or pipe plain and as
/// wide as need be.
report::Style style_of(std::FILE* stream);

}  // namespace doxlab::app
