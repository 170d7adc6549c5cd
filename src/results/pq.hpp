#pragma once
/// The records of the key exchange experiment: the same lookups with one group after the other. Field names
/// of the public harness (`pq_c2s` ... `cl_ms`, `delta`) are kept; the rest is beside them.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/run.hpp"

namespace doxlab::results {

/// One way to agree on a key, measured on every transport.
struct KeyExchangeCase {
  std::string name;                             ///< the group, or "X25519, server wants X25519MLKEM768"
  std::string client_groups, server_groups;     ///< OpenSSL lists; `*` marks a key share
  bool post_quantum = false;                    ///< the group agreed on has an ML-KEM part
  bool hello_retry_request = false;             ///< the client's key share is for a group that the server lacks
  LinkPrecision precision;
  std::map<std::string, PacketsSummary> results;  ///< by transport
};

/// The first post-quantum group of the list against the first classical one. Bytes are IP bytes until the
/// answer, medians as in PacketsSummary.
struct PqComparison {
  std::string transport;                        ///< display name
  std::string pq_group, cl_group;
  std::optional<std::uint64_t> pq_c2s, pq_s2c, cl_c2s, cl_s2c;
  std::optional<std::int64_t> delta;            ///< bytes: post-quantum minus classical, both directions
  std::optional<double> pq_ms, cl_ms;
  std::optional<std::uint64_t> pq_round_trips, cl_round_trips;
  /// The median over pairs (same sample number, so same losses) of post-quantum minus classical, with its
  /// exact 95% interval; empty ends: not known.
  std::optional<double> delta_ms, delta_ms_low, delta_ms_high;
  std::uint64_t pairs = 0;
};

struct PqRun {
  int schema_version = kSchemaVersion;
  std::string experiment = "pq";
  std::string command_line;
  std::string started;
  double duration_s = 0;
  bool complete = true;
  std::uint64_t repetitions = 0;
  Environment environment;
  LinkSettings link;
  EndpointSettings endpoints;
  std::map<std::string, PqComparison> results;
  std::vector<KeyExchangeCase> cases;
};

std::string to_json(const PqRun& run);

}  // namespace doxlab::results
