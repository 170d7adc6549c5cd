#pragma once
/// The key exchange experiment as text.

#include <string>

#include "results/pq.hpp"

namespace doxlab::report {

/// The comparison of post-quantum with classical, then every case, ending in '\n'.
std::string pq_text(const results::PqRun& run);

}  // namespace doxlab::report
