#pragma once
/// What one lookup cost, however its packets were counted.

#include <cstddef>
#include <optional>

#include "experiment/rig.hpp"
#include "trace/critical_path.hpp"

namespace doxlab::experiment {

struct Measured {
  /// Empty: no answer, or no chain that leads to it. Of Counting::Segments its hops are steps and not packets.
  std::optional<trace::CriticalPath> path;
  trace::Volumes volumes;   ///< without an answer all that was sent belongs to the attempt
  std::size_t flights = 0;
};

Measured measure(const Sample& sample);

/// Gives packets that were seen at the client alone the times at which the server got and sent them: half of the shortest way
/// there and back of this lookup, which keeps causes before effects (trace/ways_back.hpp). Others stay as they are.
void place_server(Sample& sample);
/// The same of packets with a way that is known.
void place_server(std::vector<capture::RecordedPacket>& packets, Duration way_and_back);

}  // namespace doxlab::experiment
