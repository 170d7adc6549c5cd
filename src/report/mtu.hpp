#pragma once
/// What a report says of the largest packets.

#include <format>
#include <string>

#include "results/run.hpp"

namespace doxlab::report {

/// "MTU 1500", or "MTU 1500 (1300 on the way)" if the path carries less than the interfaces.
inline std::string mtu_text(const results::LinkSettings& link) {
  if (link.path_mtu == 0 || link.path_mtu == link.mtu) return std::format("MTU {}", link.mtu);
  return std::format("MTU {} ({} on the way)", link.mtu, link.path_mtu);
}

}  // namespace doxlab::report
