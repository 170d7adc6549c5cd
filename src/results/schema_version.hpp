#pragma once

namespace doxlab::results {

/// Raised when a field changes its meaning or goes; new fields appear without it.
inline constexpr int kSchemaVersion = 1;

}  // namespace doxlab::results
