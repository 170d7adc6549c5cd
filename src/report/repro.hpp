#pragma once
/// The text of `doxlab repro`.

#include "report/document.hpp"
#include "results/repro.hpp"

namespace doxlab::report {

/// Failed handshakes beside the published figures, the chosen losses, the first failure in words, the verdict.
Document repro_text(const results::ReproRun& run);

}  // namespace doxlab::report
