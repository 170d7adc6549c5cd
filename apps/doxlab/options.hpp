#pragma once
/// Options that several subcommands share, each defined once, and what main offers to all of them.

#include <CLI/CLI.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "experiment/setup.hpp"

namespace doxlab::app {

/// What every exit code means.
/// kWrapperFailed stands for kFailed where the other codes belong to a command, as with env(1) and timeout(1).
enum ExitCode : int { kOk = 0, kFailed = 1, kUsage = 2, kWrapperFailed = 125, kInterrupted = 130 };

/// A wrong use of options that CLI11 cannot see by itself; main prints it and returns kUsage.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a subcommand is given beside its own options.
struct Invocation {
  std::string command_line;   ///< as typed, for the results
  std::stop_token stop;       ///< Ctrl-C and SIGTERM
  std::vector<std::string> command;  ///< of a subcommand that runs one: what came after "--", untouched
};

/// The options of the resolver, in the lab and alone.
class ResolverOptions {
 public:
  /// Adds them to a subcommand. The object must outlive the parsing.
  void add_to(CLI::App& command);
  /// Writes them into a Setup. With `preset` only what was typed explicitly, so that it overrides a preset.
  /// Errors: UsageError naming the option.
  void apply(experiment::Setup& setup, bool preset) const;
  /// Errors: UsageError if an option was typed that the setup's subject does not follow.
  void check(const experiment::Setup& setup) const;

 private:
  std::size_t chain_bytes_ = 3900, tickets_ = 1, datagram_bytes_ = 1232;
  std::string retry_ = "off", groups_, chain_key_ = "ecdsa", compression_ = "none", zone_file_;
  std::string constructions_, provider_name_;
  CLI::App* command_ = nullptr;
};

/// The options of the link, as typed.
class LinkOptions {
 public:
  /// `loss_percent` is the default of --loss.
  explicit LinkOptions(double loss_percent = 0) : loss_percent_(loss_percent) {}
  /// Adds them to a subcommand. The object must outlive the parsing.
  void add_to(CLI::App& command);
  /// Writes them into a Setup. Errors: UsageError naming the option.
  void apply(experiment::Setup& setup) const;

 private:
  double loss_percent_;
  double delay_ms_ = 20, duplicate_percent_ = 0, corrupt_percent_ = 0, reorder_percent_ = 0;
  std::uint64_t seed_ = 1, rate_kbps_ = 0, queue_bytes_ = 0;
  std::size_t mtu_ = 1500, path_mtu_ = 0;
  std::vector<std::string> dropped_;
  std::vector<double> burst_;
  bool ipv6_ = false;
};

/// The options of the link, the resolver and the client in the lab, as typed.
class LabOptions {
 public:
  /// Defaults of --loss, --subject and --timeout.
  explicit LabOptions(double loss_percent = 0, std::string subject = "builtin", double timeout_s = 15)
      : subject_(std::move(subject)), link_(loss_percent), timeout_s_(timeout_s) {}
  /// Adds them to a subcommand. The object must outlive the parsing.
  void add_to(CLI::App& command);
  /// What was typed as a Setup, with the key log that the environment names. Errors: UsageError naming the option;
  /// std::runtime_error if the key log cannot be opened.
  experiment::Setup setup() const;

 private:
  void choose_subject(experiment::Setup& setup) const;

  const CLI::App* command_ = nullptr;
  std::string subject_;
  LinkOptions link_;
  ResolverOptions resolver_;
  std::vector<std::string> only_;
  double timeout_s_, initial_rtt_ms_ = 333;
  std::string group_, qname_ = "example.com", qtype_ = "A", method_ = "post";
  std::string start_ = "cold", congestion_ = "cubic";
  double server_initial_rtt_ms_ = 333, do53_retransmit_ms_ = 0;
  std::size_t initcwnd_ = 0, first_flight_copies_ = 1, syn_linear_timeouts_ = 0;
  bool reject_early_data_ = false, token_ = false, fast_open_ = false;
  bool as_published_ = false, no_verify_ = false;
};

/// Errors: UsageError if the setup's subject has no way to be told of this option of the resolver.
void check_followed(const experiment::Setup& setup, const std::string& option);

/// As CLI::Range of real numbers, which lets "nan" pass.
CLI::Validator number_from(double low, double high);
/// Transports by name, each once. Errors: UsageError naming `option`.
std::vector<Transport> parse_transports(const std::vector<std::string>& names, std::string_view option);

/// "A,B" split and trimmed, empty parts dropped.
std::vector<std::string> split_list(const std::string& text);
/// A group by the name that OpenSSL knows: "P-256" is "secp256r1"; other names stay.
std::string group_name(const std::string& name);
/// Whether OpenSSL takes a list of groups. Errors: UsageError with what was `typed` for it.
void check_groups(const std::string& list, std::string_view typed);
/// A comma list of groups as OpenSSL's list with a key share for the first hybrid and the first classical
/// group, as docs/method.md explains; a text with ':' or '*' is passed on as it is. Errors: UsageError with the
/// group that OpenSSL does not know.
std::string group_list(const std::string& text);
/// DNSCrypt's "xchacha20", "xsalsa20", their full names, or a comma list. Errors: UsageError.
std::vector<dnscrypt::EsVersion> parse_constructions(const std::string& text);
/// "none", "zlib", "zstd" or a comma list. Errors: UsageError.
std::vector<tls::CertificateCompression> parse_compression(const std::string& text);

}  // namespace doxlab::app
