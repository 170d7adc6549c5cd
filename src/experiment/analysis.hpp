#pragma once
/// A sample taken apart: its packets dissected with its own secrets, its time and its bytes accounted for.

#include <optional>
#include <vector>

#include "experiment/rig.hpp"
#include "results/explanation.hpp"
#include "trace/causes.hpp"
#include "trace/detectors.hpp"
#include "trace/ledger.hpp"

namespace doxlab::experiment {

/// Packets are those that opened a reused connection and then those of the sample, by index.
struct Analysis {
  std::vector<capture::RecordedPacket> packets;
  std::vector<dissect::ObservedPacket> observed;  ///< borrows from `packets`
  dissect::Dissection dissection;
  std::optional<trace::Causes> causes;            ///< empty: no answer; else its spans sum to the time
  trace::Ledger until_answer, after_answer;       ///< of the sample's packets, duplicates of the link left out
  std::vector<trace::Detected> findings;

  Analysis() = default;
  Analysis(Analysis&&) = default;
  Analysis& operator=(Analysis&&) = default;
};

/// Errors: std::logic_error if the sums are not those of the recorder and the clock, to the byte and the nanosecond:
/// then this program is wrong, and its figures must not be believed.
Analysis analyse(const Sample& sample, const link::Impairments& link);

/// The whole of it in words.
results::Explanation explain(const Sample& sample, const Analysis& analysis);

/// Milliseconds by cause, by the names of trace::cause_name(); they sum to the time of the lookup.
std::map<std::string, double> causes_ms(const Analysis& analysis);
/// By the names of trace::to_string(Owner); owners without bytes are left out.
std::map<std::string, results::OwnedBytes> ledger_rows(const trace::Ledger& until_answer, const trace::Ledger& after);
results::ExplainedStall describe_stall(const trace::AmplificationStall& stall);
/// Writes spans, round trips, stall and findings of a lookup that started then. `causes` may be empty: no answer.
void describe(results::Explanation& out, const std::optional<trace::Causes>& causes,
              const std::vector<trace::Detected>& findings, Timestamp started);

}  // namespace doxlab::experiment
