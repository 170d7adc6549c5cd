#pragma once
/// Many cold lookups in flight, paced so that computing does not disturb what is measured. It watches the
/// lateness of the link and of both event loops; where they are late it slows down, and a lookup that met
/// lateness is made again with the same draws. What stays disturbed is marked, never silently used.

#include <functional>
#include <span>
#include <stop_token>

#include "experiment/rig.hpp"

namespace doxlab::experiment {

struct SamplerOptions {
  Duration first_interval = 6ms;       ///< between starts, to begin with
  Duration least_interval = 2ms;       ///< never faster than this
  Duration greatest_interval = 100ms;  ///< never slower than this
  std::size_t in_flight = 4096;
  std::size_t attempts = 3;            ///< of a disturbed lookup, the first included
  /// A lookup is disturbed if one of its packets left the link later than this ...
  Duration link_tolerance = 1ms;
  /// ... or the client's or the resolver's event loop was later than this when a packet for it arrived.
  Duration loop_tolerance = 4ms;
};

struct SamplerStatus {
  std::size_t done = 0, of = 0;
  std::size_t repeated = 0;            ///< attempts that were thrown away as disturbed
  std::size_t disturbed = 0;           ///< delivered although disturbed in every attempt
  double per_second = 0;               ///< lookups completed, lately
};

/// Runs all tasks on the rig. `on_sample` gets each task once, in order of completion, in this thread.
/// `on_status` (may be empty) is called after each. False if stopped early.
bool run_sampler(Rig& rig, std::span<const Task> tasks, const SamplerOptions& options,
                 const std::function<void(Sample&&)>& on_sample, const std::function<void(const SamplerStatus&)>& on_status,
                 std::stop_token stop);

}  // namespace doxlab::experiment
