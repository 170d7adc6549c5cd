#pragma once
/// What a report says of packets that do not fit, or are lost whatever the luck.

#include <format>
#include <string>

#include "results/run.hpp"

namespace doxlab::report {

/// "MTU 1500", "MTU 1500 (1300 on the way), without s2c/1".
inline std::string mtu_text(const results::LinkSettings& link) {
  auto out = std::format("MTU {}", link.mtu);
  if (link.path_mtu > 0) out += std::format(" ({} on the way)", link.path_mtu);
  for (std::size_t i = 0; i < link.dropped.size(); ++i) out += (i == 0 ? ", without " : " and ") + link.dropped[i];
  return out;
}

}  // namespace doxlab::report
