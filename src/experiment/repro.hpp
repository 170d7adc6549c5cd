#pragma once
/// Whether a server has a known fault: handshakes under random losses beside the figures that were published of it,
/// and the same fault brought about by losing chosen packets.

#include <functional>
#include <stop_token>

#include "experiment/packets.hpp"
#include "results/repro.hpp"

namespace doxlab::experiment {

struct ReproOptions {
  std::size_t repetitions = 100;           ///< handshakes of each cell
  std::function<void(std::string_view)> on_cell = [](std::string_view) {};  ///< what is measured next
  SampleHandler on_failure = {};           ///< gets the first failing handshake with all its packets
};

/// nginx issue 1616 (HTTP/3): a server whose ServerHello fills two Initial packets never sends a lost one again.
/// Measures handshakes over DoH3 with three chains, four loss rates and both kinds of key exchange, then loses each
/// Initial packet of the server that carries CRYPTO data once by script. The verdict:
///   affected      a handshake failed in which the server never sent lost Initial CRYPTO data again
///   not affected  none did, by script or by chance, and where losses were published to be frequent (8% and more) so
///                 few handshakes failed that the published rates can be excluded, 95% intervals apart
///   not decided   anything else; `handshakes_needed` says how many of each cell would do
/// The setup's chain, loss and groups are replaced. Errors: exceptions of Rig; std::invalid_argument if the subject
/// does not offer DoH3.
results::ReproRun run_repro_1616(const Setup& setup, const ReproOptions& options, const std::string& command_line,
                                 const Progress& progress, std::stop_token stop);

/// Any server: every loss of one packet (`pairs`: also of two) of a lookup over the setup's transports, and which of
/// them end it. Affected if any does. Errors: as run_dropmap.
results::ReproRun find_fatal_losses(const Setup& setup, bool pairs, const std::string& command_line,
                                    const Progress& progress, std::stop_token stop);

}  // namespace doxlab::experiment
