#pragma once
/// A sweep as text and as CSV.

#include <string>

#include "report/document.hpp"
#include "results/sweep.hpp"

namespace doxlab::report {

/// One row a cell and transport, then what needs care.
Document sweep_text(const results::SweepRun& run);

/// The same rows, one header line, values separated by commas (RFC 4180): a column for each axis of the grid,
/// then transport, n, no answer and its share, round trips, packets, bytes, and p50 to p99 with the ends of
/// their intervals in ms. Empty: not known; an end of an interval, or a quantile, at or beyond the timeout is
/// "inf".
std::string sweep_csv(const results::SweepRun& run);

}  // namespace doxlab::report
