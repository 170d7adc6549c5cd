#pragma once
/// The records of measured advice: what was found in a setup, the one change that might end it, and the same lookups
/// before and after.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/loss.hpp"

namespace doxlab::results {

/// What a server's first flight with the handshake may still grow by before it costs a round trip.
struct Headroom {
  std::string transport;                        ///< display name
  std::string limit;                            ///< "amplification" (RFC 9000 §8.1), "initial_window" (RFC 6928)
  std::uint64_t flight = 0, allowed = 0;        ///< bytes: UDP payload, TCP payload
  std::int64_t headroom = 0;                    ///< allowed - flight; negative: the shortfall
};

/// Lookups of one transport with one setup. Medians of the clean path; the quantile under loss.
struct AdviceFigures {
  std::optional<std::uint64_t> round_trips;
  std::optional<std::uint64_t> ip_bytes;        ///< both directions, until the answer
  std::optional<double> ms;
  std::optional<QuantileEstimate> p99;          ///< empty: not measured under loss
  std::uint64_t lookups_under_loss = 0, no_answer_under_loss = 0;
};

struct Advice {
  std::string transport;                        ///< as on the command line
  std::string finding, sentence;                ///< of the first lookup that has it
  std::uint64_t lookups = 0, of = 0;            ///< that have it
  bool found_on_clean_path = true;              ///< false: only in the lookups under loss
  std::optional<std::uint64_t> shortfall;       ///< bytes that did not fit, where that is what was found
  std::string change;                           ///< in words; empty: there is none that doxlab could try
  std::string options;                          ///< what makes it on the command line
  bool measured = false;
  std::string reason;                           ///< why not measured
  AdviceFigures before, after;
  std::optional<std::int64_t> round_trips_saved;
  /// After minus before. On a clean path the median over pairs of lookups, under loss the difference of the two 99th
  /// percentiles; 95% intervals, an empty end: not known.
  std::optional<double> delta_ms, delta_ms_low, delta_ms_high;
  std::optional<double> delta_p99, delta_p99_low, delta_p99_high;
  std::uint64_t samples_needed = 0;             ///< for an interval of delta_p99
  bool finding_gone = false;                    ///< none of the changed lookups on the clean path has it
  std::vector<std::string> new_findings;        ///< of the changed lookups on the clean path
  /// "round_trips": fewer; "tail": as many, and p99 surely lower; "nothing"; "costs": more round trips, or p99 surely
  /// higher. Empty: not measured.
  std::string verdict;
};

struct AdviceRun {
  int schema_version = kSchemaVersion;
  std::string experiment = "advise";
  std::string command_line;
  std::string started;                          ///< UTC, ISO 8601
  double duration_s = 0;
  bool complete = true;                         ///< false: interrupted; what was measured is here
  std::uint64_t repetitions_clean = 0, repetitions_loss = 0;  ///< for each transport, before and after
  Environment environment;
  LinkSettings link;                            ///< with its losses; the clean path has none
  EndpointSettings endpoints;                   ///< before any change
  bool precise = true;                          ///< false: a link was more than 1 ms late at p99
  std::string why_not_measured;                 ///< empty: changes were measured
  std::map<std::string, AdviceFigures> before;  ///< by transport
  std::vector<Headroom> headroom;
  std::vector<Advice> advice;
};

std::string to_json(const AdviceRun& run);

}  // namespace doxlab::results
