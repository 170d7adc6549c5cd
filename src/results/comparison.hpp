#pragma once
/// The records of `doxlab compare`: two runs of the same experiments, quantity by quantity. Every difference is B
/// minus A, so that a negative one in milliseconds means that B is faster.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/schema_version.hpp"

namespace doxlab::results {

/// One quantity of one transport.
struct QuantityDifference {
  std::string quantity;            ///< "ms", "p99", "round_trips", "bytes_c2s", "no_answer_percent", ...
  std::string unit;                ///< "ms", "bytes", "%", or empty: a count
  std::optional<double> a, b;      ///< empty: at or beyond the timeout, or not supported by the samples
  /// B minus A, and an interval that holds the true difference in at least 95 of 100 cases. Empty: not known, and of
  /// an end: not bounded, because it lies beyond the timeout.
  std::optional<double> delta, low, high;
  /// "lower", "higher": the interval is on one side of zero. "same": nothing beyond noise, the interval holds zero.
  /// "not decided": there is no interval; `samples_needed` of each run would give one.
  std::string verdict;
  std::uint64_t samples_needed = 0;
};

struct TransportComparison {
  std::string transport;           ///< display name
  std::vector<QuantityDifference> differences;
};

struct ComparedExperiment {
  std::string experiment;          ///< "packets", "as_published", "loss"
  /// Why the two cannot be compared, each a sentence: another delay, loss, seed, kernel setting ... If there is any,
  /// `results` is empty.
  std::vector<std::string> obstacles;
  /// What else differs, and may well be what is compared: versions, certificate chain, groups, Retry ...
  std::vector<std::string> changes;
  std::vector<std::string> warnings;  ///< a late link, disturbed lookups, an interrupted run
  std::map<std::string, TransportComparison> results;
  std::vector<std::string> only_in_a, only_in_b;  ///< transports
};

struct Comparison {
  int schema_version = kSchemaVersion;
  std::string experiment = "compare";
  std::string a, b;                ///< file names
  std::string a_command_line, b_command_line, a_started, b_started;
  std::vector<ComparedExperiment> experiments;
  std::vector<std::string> only_in_a, only_in_b;  ///< experiments
};

std::string to_json(const Comparison& comparison);

}  // namespace doxlab::results
