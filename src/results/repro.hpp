#pragma once
/// The records of `doxlab repro`: how often handshakes fail by chain, loss and key exchange, which chosen losses
/// end them, and what that says of the server.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/explanation.hpp"
#include "results/run.hpp"

namespace doxlab::results {

/// Handshakes with one chain, at one loss rate, with one kind of key exchange.
struct ReproCell {
  std::uint64_t chain_bytes = 0;
  double loss_percent = 0;             ///< each direction
  bool post_quantum = false;           ///< X25519MLKEM768, else X25519
  std::uint64_t handshakes = 0;        ///< tried, disturbed ones left out
  std::uint64_t failed = 0;            ///< not completed within the timeout
  double failed_low = 0, failed_high = 1;  ///< of the share, 95% Clopper-Pearson
  std::uint64_t with_fault = 0;        ///< of the failed: lost Initial CRYPTO data of the server was never sent again
  /// As published for the faulty server; empty: not published.
  std::optional<std::uint64_t> published_failed, published_handshakes;
};

/// Lookups in which just these packets were lost.
struct ScriptedLoss {
  std::vector<std::string> packets;    ///< "server packet 1: initial 1: ServerHello 1178", as in the first that failed
  std::string drop;                    ///< the same as --drop takes it: "s2c/1"
  std::string transport;               ///< "doh3"
  std::string client_groups;           ///< that the client offered, an OpenSSL list
  std::uint64_t chain_bytes = 0;
  std::uint64_t attempts = 0;
  std::uint64_t failed = 0;            ///< no handshake within the timeout; of "find": no answer
  std::uint64_t with_fault = 0;        ///< of the failed, as in ReproCell
  std::optional<double> slowest_ms;    ///< start to answer, of those that did not fail
  std::string finding;                 ///< why they failed: the sentence of the fault or another finding, or what the client said
};

struct ReproRun {
  int schema_version = kSchemaVersion;
  std::string experiment = "repro";
  std::string command_line;
  std::string started;
  double duration_s = 0;
  bool complete = true;
  std::string fault;                   ///< "nginx-1616", or "find": any loss that ends a handshake
  std::string verdict;                 ///< "affected", "not affected", "not decided"
  std::string reason;                  ///< a sentence
  std::optional<std::uint64_t> handshakes_needed;  ///< of each cell, to decide; with "not decided"
  std::vector<ReproCell> cells;
  std::vector<ScriptedLoss> scripted;
  std::optional<ScriptedLoss> every_time;  ///< the fewest losses that ended every lookup which met them
  std::string every_time_command;      ///< a command line that shows `every_time`; empty: there is none
  std::optional<Explanation> first_failure;
  std::string server_log;              ///< the last lines of the server after that failure
  Environment environment;
  EndpointSettings endpoints;
};

std::string to_json(const ReproRun& run);

}  // namespace doxlab::results
