#pragma once
/// The price of a key exchange: the same lookups with each group in turn, on every transport with TLS. Pairs
/// share their sample number and so their losses.

#include <stop_token>
#include <string>
#include <vector>

#include "experiment/packets.hpp"
#include "results/pq.hpp"

namespace doxlab::experiment {

/// True for groups with an ML-KEM part: "X25519MLKEM768", "SecP256r1MLKEM768", "MLKEM768" ...
bool is_post_quantum(std::string_view group);

/// `groups` in OpenSSL's names, each offered alone and with a key share. If there is a classical and a
/// post-quantum one, two more cases have the client guess wrongly, so that the server asks again with a
/// HelloRetryRequest (RFC 8446 §4.1.4). Transports without TLS in the setup are left out.
/// Errors: exceptions of Rig; std::invalid_argument without groups or without a transport with TLS.
results::PqRun run_pq(Setup setup, const std::vector<std::string>& groups, std::size_t repetitions,
                      const std::string& command_line, const Progress& progress, std::stop_token stop);

}  // namespace doxlab::experiment
