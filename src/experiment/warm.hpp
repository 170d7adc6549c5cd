#pragma once
/// What a lookup costs depending on what it starts from: nothing, an open connection, a ticket, early data, an
/// address validation token, a TCP Fast Open cookie.

#include <stop_token>
#include <string>

#include "experiment/packets.hpp"
#include "results/warm.hpp"

namespace doxlab::experiment {

/// Runs the packets experiment for each case, on the transports of the setup that the case concerns. `setup`
/// gives all that the cases do not vary. Errors: exceptions of Rig.
results::WarmRun run_warm(const Setup& setup, std::size_t repetitions, const std::string& command_line,
                          const Progress& progress, std::stop_token stop);

}  // namespace doxlab::experiment
