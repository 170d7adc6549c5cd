#pragma once
/// Where the time and the bytes of many lookups over one transport went, and what was found in them. Made of every
/// lookup of a run, each of which was checked first: its spans sum to its time, the owners of its bytes to what the
/// recorder counted.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/explanation.hpp"

namespace doxlab::results {

/// A cause over all answered lookups; see ExplainedSpan.
struct CauseTotal {
  std::string name;              ///< for people
  std::uint64_t lookups = 0;     ///< that have a span of it
  double mean_ms = 0;            ///< over all answered lookups, also those without it: the means sum to that of `ms`
  double max_ms = 0;             ///< in one lookup
};

/// The bytes of one owner in a lookup, means over all lookups: IP bytes up to the answer and after it. They sum to the
/// means of what was recorded.
struct OwnerMean {
  double c2s = 0, s2c = 0, after_c2s = 0, after_s2c = 0;
  double repeated = 0;           ///< of all of them: octets that their sender had sent before
};

/// A finding and the lookups that have it.
struct FindingTotal {
  std::uint64_t lookups = 0;
  std::uint64_t first_sample = 0;  ///< the least number of those
  std::string sentence;          ///< that of this sample
};

/// A lookup with time for which no cause is known.
struct UnexplainedTime {
  std::uint64_t sample = 0;
  double ms = 0;                 ///< of the lookup's time
};

struct Accounting {
  std::uint64_t lookups = 0, answered = 0;       ///< that were taken apart; disturbed ones are not among them
  std::map<std::string, CauseTotal> causes;      ///< by cause: "tcp_handshake", "client_computing", ...
  std::map<std::string, OwnerMean> ledger;       ///< by owner: "ip_header", "client_hello", ...
  std::map<std::string, FindingTotal> findings;  ///< by finding: "retry_round_trip", ...
  std::vector<UnexplainedTime> unexplained;      ///< every lookup that has any, by number
  std::optional<ExplainedStall> stall;           ///< of the first lookup that met the anti-amplification limit
  /// The lookup at the median of the answered, and the slowest of all: one without an answer if there is one.
  std::optional<Explanation> median, slowest;
};

}  // namespace doxlab::results
