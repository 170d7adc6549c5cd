#pragma once
/// Lookups in which just these packets are lost, again and again: whether a loss ends a handshake every time.

#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "experiment/analysis.hpp"
#include "experiment/packets.hpp"
#include "results/repro.hpp"

namespace doxlab::experiment {

/// Packets by sender and number; their `sample` means nothing.
using LossSet = std::vector<link::PacketPlace>;

/// Lookups that are made with each set. A packet's number may differ from one to the next, since an
/// acknowledgement may go before it or with it: those in which another packet was lost do not count.
inline constexpr std::uint64_t kLossAttempts = 5;
/// Fewer say nothing of "every time".
inline constexpr std::uint64_t kFewestAttempts = 3;

struct TriedLoss {
  results::ScriptedLoss record;
  std::optional<Sample> failure;  ///< the first lookup that failed
};

struct TriedLosses {
  std::vector<TriedLoss> each;    ///< one for each set
  std::string server_log;         ///< the last lines of the server afterwards
};

/// Whether packet `number` of a lookup is one that was meant to be lost.
using IsMeant = std::function<bool(const Analysis&, std::uint32_t number)>;
inline bool is_any_packet(const Analysis&, std::uint32_t) { return true; }

struct LossTrial {
  std::function<bool(const Sample&)> has_failed;
  IsMeant is_meant = is_any_packet;
};

/// Tries every set kLossAttempts times, all on one link that loses nothing else, with the setup's first transport.
/// Empty: stopped. Errors: exceptions of Rig.
std::optional<TriedLosses> try_losses(const Setup& setup, std::span<const LossSet> sets, const LossTrial& trial,
                                      const Progress& progress, std::stop_token stop);

/// The packets that were lost in a lookup by chance, as sets to try: each, every two, and all. At most the first
/// kMostReplayed are looked at.
inline constexpr std::size_t kMostReplayed = 12;
std::vector<LossSet> subsets_of_losses(const Analysis& analysis);

/// The set of the fewest packets that ended every lookup, those with the fault first; null if there is none.
const TriedLoss* ends_every_time(std::span<const TriedLoss> tried);

/// The sentence of the fault, or nothing: lost Initial CRYPTO data of the server that it never sent again.
std::string fault_in(const Analysis& analysis);

/// Places of the server's packets with Initial CRYPTO data.
LossSet initial_crypto_packets(const Analysis& analysis);
bool carries_initial_crypto(const Analysis& analysis, std::uint32_t packet);

}  // namespace doxlab::experiment
