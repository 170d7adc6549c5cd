#pragma once
/// The records of a drop map: the same lookup again and again, each time with another packet of it lost (or
/// damaged, doubled, delayed), what that cost, and what it says about lookups with random losses.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/loss.hpp"
#include "results/run.hpp"

namespace doxlab::results {

/// A packet of a lookup. `index` counts its sender's packets from 0, as the link's script does.
struct DropmapPacket {
  std::string direction;       ///< "c2s" or "s2c"
  std::uint64_t index = 0;
  std::string carried;         ///< what was in it, for people
  std::uint64_t ip_bytes = 0;
  double sent_ms = 0;          ///< after the start of the lookup
};

/// What happened where one packet, or two of them, met the event. Medians over the lookups that got an answer.
struct DropmapRow {
  /// One; with --pairs two, the second as it was in the lookup that lost the first.
  std::vector<DropmapPacket> packets;
  /// Sent when the answer was on its way already, so that it can cost nothing.
  bool after_answer = false;
  std::uint64_t lookups = 0;       ///< made, without those below
  std::uint64_t not_sent = 0;      ///< of them, in which there was no such packet
  std::uint64_t disturbed = 0;     ///< the machine was too busy in every attempt: left out
  std::uint64_t no_answer = 0;     ///< of `lookups`
  std::string outcome;             ///< "answered", or of those without: "timed out", ...
  std::string reason;
  std::optional<double> ms, ms_min, ms_max;
  std::optional<double> lost_ms;   ///< `ms` minus the reference's
  std::optional<std::uint64_t> round_trips;
  std::uint64_t pkts = 0;          ///< of both directions until the answer, or the timeout; those lost included
  /// Milliseconds that the typical of these lookups waited for timers or without a known reason, by cause.
  std::map<std::string, double> waits_ms;
  std::string recovery;            ///< how what was lost came after all, for people
};

/// Lookups without any event.
struct DropmapReference {
  std::uint64_t lookups = 0, no_answer = 0, disturbed = 0;
  std::optional<double> ms, ms_min, ms_max;
  std::optional<std::uint64_t> round_trips;
  std::uint64_t pkts_c2s = 0, pkts_s2c = 0;  ///< until the answer
};

/// A quantile of a distribution of which a part is not known.
struct ExpectedQuantile {
  double p = 0;
  /// Between these; equal if the known part decides it. Empty: no answer within the timeout.
  std::optional<double> low_ms, high_ms;
  bool is_decided = false;
};

/// Latencies under independent losses as they follow from the map: every packet is lost with the same
/// probability, whatever else is.
struct DropmapExpected {
  double loss_percent = 0;         ///< each direction
  std::uint64_t order = 1;         ///< up to so many losses in a lookup are in it
  /// Probability of no loss, of one, of two. Their sum is a little off where acknowledgements come in different
  /// numbers from lookup to lookup.
  std::vector<double> by_losses;
  double not_explained = 0;        ///< of more losses, and of rows that are missing
  double no_answer = 0;            ///< of the explained: without an answer
  std::vector<ExpectedQuantile> quantiles;
};

struct DropmapSummary {
  std::string transport;           ///< display name
  DropmapReference reference;
  std::vector<DropmapRow> rows;    ///< one packet each
  std::vector<DropmapRow> pairs;   ///< with --pairs
  std::optional<DropmapExpected> expected;  ///< of dropped packets only
  std::optional<LossSummary> measured;      ///< what was asked to be compared with
};

struct DropmapRun {
  int schema_version = kSchemaVersion;
  std::string experiment = "dropmap";
  std::string command_line;
  std::string started;
  double duration_s = 0;
  bool complete = true;            ///< false: interrupted; the rows that were measured are here
  std::string action;              ///< "drop", "flip", "dup" or "delay"
  double extra_delay_ms = 0;       ///< of "delay"
  std::uint64_t repetitions = 0, references = 0;
  std::uint64_t repeated = 0;      ///< lookups made again because the machine disturbed them
  std::string measured_from;       ///< a file, or a command line; empty: nothing was measured
  Environment environment;
  LinkSettings link;               ///< of the map: without losses but its own
  EndpointSettings endpoints;
  LinkPrecision precision;
  std::map<std::string, DropmapSummary> results;
};

std::string to_json(const DropmapRun& run);

}  // namespace doxlab::results
