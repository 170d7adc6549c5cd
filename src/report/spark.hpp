#pragma once
/// A distribution in a line of text.

#include <cstddef>
#include <span>
#include <string>

namespace doxlab::report {

/// One of " ▁▂▃▄▅▆▇█" for each of `cells` equal steps of log(value) from `low` to `high`: the share of the values in it, by its
/// square root so that a tail of one in a thousand still shows. Values beyond the ends count in the last step. Empty
/// without values or with a `low` that is not positive and below `high`.
std::string spark(std::span<const double> values, double low, double high, std::size_t cells);

}  // namespace doxlab::report
