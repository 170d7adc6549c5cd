#pragma once
/// The options of a server that is not in the lab.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <stop_token>
#include <string>

#include "experiment/setup.hpp"

namespace doxlab::app {

class ElsewhereOptions {
 public:
  /// Adds them to a subcommand that has LabOptions. The object must outlive the parsing.
  void add_to(CLI::App& command);
  bool is_given() const { return !server_.empty(); }
  /// Without lab and link, so that no namespaces are needed.
  bool is_direct() const { return is_direct_; }
  /// Before the program moves into a user namespace, from which there is no way out. Errors: std::runtime_error without root,
  /// unless it is direct.
  void check_privileges() const;
  /// Makes the setup one of that server, asks it once over each transport, and leaves the setup with those that answer.
  /// `lookups`: those asked for, for each transport. Does nothing if no server is given. Errors: UsageError naming the
  /// option; std::runtime_error if the server cannot be found or answers over no transport.
  void apply(experiment::Setup& setup, std::size_t lookups, std::stop_token stop);
  /// Whether a transport that was asked for by name did not answer, or one failed that is offered.
  bool misses_transport(const experiment::Setup& setup) const;
  /// Of the options of a run by name, those of a link that there was not.
  void leave_out_link(std::map<std::string, std::string>& options) const;
  /// To be said when nothing came back at all although priming worked.
  void explain_silence() const;

 private:
  void check_followed_elsewhere() const;
  void check_followed_directly() const;
  void check_rate(const experiment::Setup& setup, std::size_t lookups) const;

  const CLI::App* command_ = nullptr;
  std::string server_, ip_, doh_path_ = "/dns-query";
  std::map<Transport, std::uint16_t> ports_;
  double lookups_per_second_ = 2;
  bool operates_ = false, is_direct_ = false;
};

}  // namespace doxlab::app
