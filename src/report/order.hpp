#pragma once
/// The order in which people compare transports: from plain to encrypted, TCP before QUIC.

#include <map>
#include <string>
#include <vector>

namespace doxlab::report {

inline constexpr const char* kTransportOrder[] = {"do53", "do53-tcp", "dnscrypt", "dnscrypt-tcp", "dot", "doh", "doh3", "doq"};

/// The transports that a run has results for, in that order.
template <class Summary>
std::vector<const char*> in_order(const std::map<std::string, Summary>& results) {
  std::vector<const char*> out;
  for (const auto* name : kTransportOrder)
    if (results.contains(name)) out.push_back(name);
  return out;
}

}  // namespace doxlab::report
