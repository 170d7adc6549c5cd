#pragma once
/// What a report says of the server that was measured, and of a client that others wrote.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/run.hpp"

namespace doxlab::report {

/// "Server: nginx/1.26.3; it does not offer do53, doq\n"; empty for doxlab's own resolver.
std::string server_line(const results::EndpointSettings& endpoints);

/// "20 ms each way, MTU 1500, loss 2% each way, seed 1", or that there was no link.
std::string path_text(const results::LinkSettings& link, const results::EndpointSettings& endpoints);

/// Of a server that was asked directly: who counted, and what cannot be seen that way. Empty where the link counted.
std::string counting_text(const std::map<std::string, std::string>& counted_by, std::uint64_t missed_packets);

/// "Client: kdig 3.4.6; it does not ask over doh3\nTimes start ...\n"; empty for doxlab's own client.
std::string client_line(const results::EndpointSettings& endpoints);

/// Sums up, over the lookups of a transport that have any, what a client sent beside its lookup.
class OtherTraffic {
 public:
  void add(const std::vector<results::OtherFlow>& flows);
  /// A sentence; empty: there was nothing.
  std::string text(std::string_view transport) const;

 private:
  struct Sum {
    std::uint64_t flows = 0, packets = 0, bytes = 0;
  };
  std::uint64_t lookups_ = 0;
  std::map<std::pair<std::string, std::string>, Sum> by_server_;  ///< by protocol and server
};

}  // namespace doxlab::report
