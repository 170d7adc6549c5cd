#pragma once
/// How much a dissection may take apart. A frame or message can be one or two octets long and is a structure of
/// a hundred, so a capture made on purpose would need a hundred times its own size.

#include <cstddef>

namespace doxlab::dissect {

/// Things of one kind in one dissection: frames, records, messages. Octets behind the last one are named by
/// what is around them.
inline constexpr std::size_t kMostItems = std::size_t{1} << 18;

}  // namespace doxlab::dissect
