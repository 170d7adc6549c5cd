#pragma once
/// The records of the loss experiment. Field names of the public harness (`n`, `timeouts`, `p50` ... `max`,
/// `mean`) are kept; the rest is beside them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "results/run.hpp"
#include "results/shard.hpp"

namespace doxlab::results {

/// One lookup under loss: what is written to the samples file as it arrives (NDJSON), one object a line.
struct LossSample {
  std::string transport;
  std::uint64_t sample = 0;
  std::string outcome;
  std::string reason;
  std::string rcode;                            ///< of the answer; empty: none
  bool truncated = false;                       ///< the answer has TC
  std::optional<double> ms;                     ///< start to answer; empty: none within the timeout
  std::optional<std::uint64_t> round_trips;
  std::uint64_t pkts_c2s = 0, pkts_s2c = 0, bytes_c2s = 0, bytes_s2c = 0;  ///< until the answer
  std::vector<std::uint64_t> lost_c2s, lost_s2c;  ///< numbers (from 0) of the packets that the link dropped
  bool disturbed = false;                       ///< the machine was too busy in every attempt; not in the quantiles
  std::map<std::string, double> causes_ms;      ///< what `ms` consists of; docs/explain.md
  std::optional<std::vector<OtherFlow>> other_flows;  ///< absent: there were none
};

/// A quantile of the latency distribution, lookups without an answer counted as longer than the timeout.
struct QuantileEstimate {
  double p = 0;                                 ///< 0.5, 0.75, ...
  std::optional<double> ms;                     ///< empty: at or beyond the timeout, or not supported by n
  bool censored = false;                        ///< the quantile is at least the timeout
  bool supported = true;                        ///< false: n is too small for a two-sided 95% interval
  std::uint64_t samples_needed = 0;             ///< for a two-sided 95% interval of this quantile
  std::optional<double> low_ms, high_ms;        ///< distribution-free interval; empty: at least the timeout
};

struct LossSummary {
  std::string transport;                        ///< display name
  std::uint64_t n = 0;                          ///< answered
  std::uint64_t timeouts = 0;                   ///< no answer, whatever the reason
  std::uint64_t disturbed = 0;                  ///< left out of everything below
  double no_answer_share = 0, no_answer_low = 0, no_answer_high = 0;  ///< with a 95% Clopper-Pearson interval
  std::optional<double> p50, p75, p90, p95, p99, p99_9;  ///< ms, over all lookups, those without an answer last
  std::optional<double> max, mean;              ///< ms, of the answered
  std::vector<QuantileEstimate> quantiles;
  std::optional<Accounting> accounting;         ///< empty: merged, or nothing was taken apart
};

/// Where the samples of a merged run come from: one of the files that were joined.
struct LossPart {
  std::string command_line;
  std::string started;
  double duration_s = 0;
  std::optional<Shard> shard;
  std::uint64_t samples = 0;
  Environment environment;
  LinkPrecision precision;
};

struct LossRun {
  int schema_version = kSchemaVersion;
  std::string experiment = "loss";
  std::string command_line;
  std::string started;
  double duration_s = 0;                        ///< merged: of all parts together
  bool complete = true;                         ///< false: interrupted, or merged with parts missing
  /// Every option of link, resolver and client by its name on the command line, as typed or the default.
  std::map<std::string, std::string> options;
  std::uint64_t repetitions = 0;                ///< asked for each transport, over all shards
  std::optional<Shard> shard;                   ///< the samples are those of this part alone
  std::uint64_t repeated = 0;                   ///< lookups made again because the machine disturbed them
  Environment environment;
  LinkSettings link;
  EndpointSettings endpoints;
  LinkPrecision precision;                      ///< merged: the worst of the parts
  std::map<std::string, std::string> counted_by;  ///< by transport, as in PacketsRun
  std::uint64_t missed_packets = 0;             ///< likewise
  std::vector<LossPart> parts;                  ///< of a merged run
  std::string samples_file;                     ///< where the raw samples are; empty: here below
  std::map<std::string, LossSummary> results;
  std::vector<LossSample> samples;
};

std::string to_json(const LossRun& run);
/// One line without line end.
std::string to_json_line(const LossSample& sample);

/// Reads what to_json wrote. Errors: a sentence that says where the text is broken, that it is another
/// experiment's or another schema's, or which value cannot be.
Result<LossRun> parse_loss_run(std::string_view json);
/// Reads what to_json_line wrote. Errors: as above.
Result<LossSample> parse_loss_sample(std::string_view line);
/// The first thing in which two runs differ that may not be joined, as half a sentence: "seed is 1 in one and 2 in the
/// other". Empty if none.
std::string difference(const LossRun& one, const LossRun& other);
/// The same of two links and of what was asked of the endpoints.
std::string difference(const LinkSettings& link, const LinkSettings& other_link, const EndpointSettings& endpoints,
                       const EndpointSettings& other_endpoints);
/// Errors: a time that is no time (negative or infinite).
Result<void> validate(const LossSample& sample);

}  // namespace doxlab::results
