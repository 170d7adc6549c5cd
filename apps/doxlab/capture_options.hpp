#pragma once
/// What an experiment leaves beside its results for other tools to read: packets for Wireshark (--capture),
/// qlog for qvis (--qlog).

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "experiment/sample_capture.hpp"
#include "qlog_folder.hpp"

namespace doxlab::app {

/// --capture, --capture-samples, --capture-limit and --qlog of an experiment.
class CaptureOptions {
 public:
  /// Adds them to a subcommand. The object must outlive the parsing.
  void add_to(CLI::App& command);

 private:
  friend class Captures;
  std::string file_, samples_ = "all", qlog_;
  std::uint64_t limit_mib_ = 256;
};

/// The files of one run.
class Captures {
 public:
  /// Opens what was asked for and has the setup's QUIC connections write qlog. `samples_each` lookups are
  /// made for each transport. Errors: std::runtime_error with the file and the system's reason.
  Captures(const CaptureOptions& options, experiment::Setup& setup, std::size_t samples_each,
           const std::string& command_line);

  /// For the experiment; empty if no capture was asked for. Lifetime: this object outlives it.
  experiment::SampleHandler on_packets();
  /// Ends the files and says on standard error what is in them and what is not. False if one could not be
  /// written.
  bool finish();

 private:
  std::string file_;
  std::uint64_t limit_mib_;
  std::unique_ptr<experiment::SampleCapture> capture_;
  std::optional<QlogFolder> qlog_;
};

}  // namespace doxlab::app
