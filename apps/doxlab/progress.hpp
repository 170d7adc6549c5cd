#pragma once
/// What a long command shows while it runs, on a terminal only.

#include <cstddef>

namespace doxlab::app {

/// A line on standard error that counts up, and is cleared at the end.
void show_progress(std::size_t done, std::size_t of);

}  // namespace doxlab::app
