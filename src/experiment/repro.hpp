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
/// Loses each Initial packet of the server that carries CRYPTO data by script, then measures handshakes over DoH3
/// with three chains, four loss rates and both kinds of key exchange, and decides (repro_verdict.hpp). If only
/// handshakes with random losses fail, what the first of them lost is tried again, packet by packet.
/// The setup's chain, loss and groups are replaced. Errors: exceptions of Rig; std::invalid_argument if the subject
/// does not offer DoH3.
results::ReproRun run_repro_1616(const Setup& setup, const ReproOptions& options, const std::string& command_line,
                                 const Progress& progress, std::stop_token stop);

struct FindOptions {
  bool pairs = false;                      ///< also every two packets
  SampleHandler on_failure = {};           ///< as of ReproOptions
};

/// Any server: every loss of one packet of a lookup over the setup's transports, and which of them end it. Those that
/// do are tried again, kLossAttempts times each. Pairs of which one packet alone does it are left out. Affected if any
/// loss does. Errors: as run_dropmap.
results::ReproRun find_fatal_losses(const Setup& setup, const FindOptions& options, const std::string& command_line,
                                    const Progress& progress, std::stop_token stop);

}  // namespace doxlab::experiment
