#pragma once
/// The drop map: every packet of a cold lookup lost in turn, and what each loss costs. One run of the link holds
/// it whole: the script names packets by sample number, and each row has a number of its own.

#include <functional>
#include <stop_token>
#include <string>

#include "experiment/packets.hpp"
#include "results/dropmap.hpp"

namespace doxlab::experiment {

/// What happens to the packet.
enum class PacketEvent : std::uint8_t { Drop, Flip, Duplicate, Delay };
std::string_view to_string(PacketEvent event);  // "drop", "flip", "dup", "delay"

struct DropmapOptions {
  PacketEvent event = PacketEvent::Drop;
  Duration extra_delay{};          ///< of Delay
  std::size_t repetitions = 3;     ///< of each row
  std::size_t references = 9;      ///< lookups without any event, for each transport
  bool pairs = false;              ///< also every two packets
  double loss_probability = 0.02;  ///< for the distribution that follows
};

/// Packets of one sender that a map covers. Further ones have no row.
inline constexpr std::uint64_t kMostDropmapPackets = 128;
/// With pairs: packets of one sender, and pairs of all transports together that are not refused.
inline constexpr std::uint64_t kMostPairedPackets = 40, kMostPairs = 4000;

/// Measures the map of each transport of the setup, on a link that does nothing else to packets: losses,
/// duplicates, corruption and reordering of the setup's link are taken out. A row is a packet that was sent
/// before the answer was delivered, in the reference lookup with the median time; pairs are a packet and one
/// sent later, in the lookup that lost the first. Stopped early, the run has the rows that were measured and
/// `complete` false. Errors: exceptions of Rig; std::invalid_argument if the reference has more than kMostPairs.
results::DropmapRun run_dropmap(const Setup& setup, const DropmapOptions& options, const std::string& command_line,
                                const Progress& progress, std::stop_token stop);

}  // namespace doxlab::experiment
