#pragma once
/// The key exchange experiment as text.

#include <string>

#include "report/document.hpp"
#include "results/pq.hpp"

namespace doxlab::report {

/// The comparison of post-quantum with classical, then every case, ending in '\n'.
Document pq_text(const results::PqRun& run);

}  // namespace doxlab::report
