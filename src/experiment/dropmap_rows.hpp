#pragma once
/// From lookups that met an event to a row of the map. Internal.

#include <optional>
#include <span>
#include <vector>

#include "experiment/analysis.hpp"
#include "experiment/expected.hpp"
#include "experiment/recovery.hpp"

namespace doxlab::experiment {

/// What a row keeps of each of its lookups.
struct MetEvent {
  bool disturbed = false;
  bool was_sent = false;  ///< all of the row's packets were
  client::Outcome outcome = client::Outcome::Failed;
  std::string reason;
  std::optional<double> ms;
  std::optional<std::uint64_t> round_trips;
  std::size_t sent = 0;  ///< packets that can matter, see packets_that_matter()
};

/// Indexes of the packets that were sent before the answer was delivered, or until the timeout, as
/// trace::count_volumes() counts them: duplicates by the link are not among them.
std::vector<std::size_t> packets_that_matter(const Sample& sample, Duration timeout);
/// The packet at a place; empty: it was not sent.
std::optional<std::size_t> packet_at(const Sample& sample, const link::PacketPlace& place);

MetEvent met_event(const Sample& sample, std::span<const link::PacketPlace> places, Duration timeout);

/// `index`: of a packet of the sample, which was analysed.
results::DropmapPacket describe_packet(const Sample& sample, const Analysis& analysis, std::size_t index);
/// How what the lost packet `index` carried came after all, and what the lookup waited for. `usual`: what a lookup
/// without losses needs its round trips for.
void add_recovery(results::DropmapRow& row, const Sample& sample, const Analysis& analysis, std::size_t index,
                  const Needs& usual);

/// Fills times, counts and outcome of a row from its lookups. `reference_ms` may be empty.
void summarize_row(results::DropmapRow& row, std::span<const MetEvent> lookups, std::optional<double> reference_ms);
/// The lower median of the answered, undisturbed lookups that met the event; else any that met it; empty: none.
std::optional<std::size_t> typical(std::span<const MetEvent> lookups);
/// The leaves of the tree of losses that a row is.
void add_leaves(std::vector<LossLeaf>& leaves, std::size_t lost, std::span<const MetEvent> lookups);

}  // namespace doxlab::experiment
