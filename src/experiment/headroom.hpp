#pragma once
/// How much larger a server's first flight could have been without another round trip.

#include <optional>

#include "experiment/setup.hpp"
#include "results/advice.hpp"

namespace doxlab::experiment {

/// From the lookups of one transport on a clean path. Empty where nothing limits the flight (no TLS handshake, an
/// address that was validated before, an open connection) or nothing was taken apart.
std::optional<results::Headroom> headroom(const Setup& setup, Transport transport, const results::Accounting& accounting);

}  // namespace doxlab::experiment
