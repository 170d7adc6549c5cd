#pragma once
/// The records of an explained lookup: every packet with what it carried, every millisecond with its cause, every
/// byte with its owner. Packets are named by their number in `packets`, from 0.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/schema_version.hpp"

namespace doxlab::results {

struct ExplainedPacket {
  std::string direction;                ///< "c2s", "s2c"
  double sent_ms = 0;                   ///< since the start
  std::optional<double> delivered_ms;   ///< empty: it never arrived
  std::string fate;                     ///< "delivered", "lost", "corrupted", "duplicate", ...
  std::uint64_t ip_bytes = 0;
  std::string carried;                  ///< in words, see docs/explain.md
};

/// A part of the time from start to answer. They lie side by side and sum to `ms` of the lookup.
struct ExplainedSpan {
  std::string cause;                    ///< "tcp_handshake", "syn_retransmission", "client_computing", ...
  std::string name;                     ///< for people
  std::string at;                       ///< "client", "server", "c2s", "s2c"
  double begin_ms = 0, ms = 0;
  std::vector<std::uint32_t> packets;
};

struct ExplainedRoundTrip {
  std::string need;                     ///< as `cause` of its spans
  std::uint32_t to_server = 0, to_client = 0;  ///< packets
};

/// A server that stood at the anti-amplification limit; UDP payload bytes.
struct ExplainedStall {
  std::uint64_t received = 0, budget = 0, sent = 0, flight = 0, shortfall = 0;
};

/// IP bytes of one owner, up to the answer and after it.
struct OwnedBytes {
  std::uint64_t c2s = 0, s2c = 0, after_c2s = 0, after_s2c = 0;
  std::uint64_t repeated = 0;           ///< of all of them: octets that their sender had sent before
};

struct ExplainedFinding {
  std::string finding;                  ///< "retry_round_trip", "amplification_stall", ...
  std::string sentence;
  std::vector<std::uint32_t> packets;
};

struct Explanation {
  int schema_version = kSchemaVersion;
  std::string experiment = "explain";
  std::string command_line;
  std::string what;                     ///< "DoT/17", or the flow of a capture: "192.0.2.1:4711 > 192.0.2.53:853"
  std::string transport;                ///< display name; empty: not recognised
  std::string outcome, reason;
  std::optional<double> ms;
  bool is_whole = true;                 ///< false: `caveat` says what the capture lacks
  std::string caveat;
  std::vector<ExplainedRoundTrip> round_trips;
  std::vector<ExplainedSpan> spans;
  std::optional<ExplainedStall> stall;
  std::map<std::string, OwnedBytes> ledger;  ///< by owner: "ip_header", "client_hello", ...
  std::vector<ExplainedFinding> findings;
  std::vector<ExplainedPacket> packets;
};

std::string to_json(const Explanation& explanation);

}  // namespace doxlab::results
