#pragma once
/// What the figures of a reproduction say of a server.

#include <cstdint>
#include <optional>

#include "results/repro.hpp"

namespace doxlab::experiment {

/// Loss from which on the published rates are so high that few handshakes can tell, percent.
inline constexpr double kTellingLossPercent = 8;

/// Sets `verdict`, `reason` and `handshakes_needed` from `cells`, `scripted` and `complete`:
///   affected      in some handshake the server never sent lost Initial CRYPTO data again
///   not affected  in none; every chosen loss was made good; and in each cell with a published rate above 0 at
///                 kTellingLossPercent and more, the 95% interval lies below the published one
///   not decided   anything else
void decide(results::ReproRun& run);

/// The least number of handshakes of which, if `failed_share` of them fail, the 95% Clopper-Pearson interval ends
/// below `published_low`. Empty: a million are not enough.
std::optional<std::uint64_t> handshakes_to_decide(double failed_share, double published_low);

}  // namespace doxlab::experiment
