#include "report/server_line.hpp"

#include <format>

namespace doxlab::report {

std::string server_line(const results::EndpointSettings& endpoints) {
  if (endpoints.subject.empty() || endpoints.subject == "builtin") return {};
  std::string out = "Server: " + endpoints.subject;
  if (!endpoints.server_address.empty()) {
    out += " at " + endpoints.server_address + ", beyond the link and this machine's own way there, which computing times include\n";
    for (const auto& [transport, reason] : endpoints.not_answering) out += "Not measured: " + transport + ", " + reason + "\n";
    return out;
  }
  if (!endpoints.subject_version.empty()) out += "/" + endpoints.subject_version;
  for (std::size_t i = 0; i < endpoints.not_offered.size(); ++i)
    out += (i == 0 ? "; it does not offer " : ", ") + endpoints.not_offered[i];
  return out + "\n";
}

std::string client_line(const results::EndpointSettings& endpoints) {
  if (!endpoints.client) return {};
  const auto& client = *endpoints.client;
  auto out = "Client: " + client.name + (client.version.empty() ? "" : " " + client.version);
  if (!client.command.empty()) out += ", run as: " + client.command;
  for (std::size_t i = 0; i < client.not_spoken.size(); ++i)
    out += (i == 0 ? "; it does not ask over " : ", ") + client.not_spoken[i];
  return out + "\nTimes start at the first packet of its lookup.\n";
}

void OtherTraffic::add(const std::vector<results::OtherFlow>& flows) {
  ++lookups_;
  for (const auto& flow : flows) {
    auto& sum = by_server_[{flow.protocol, flow.server}];
    ++sum.flows;
    sum.packets += flow.pkts_c2s + flow.pkts_s2c;
    sum.bytes += flow.bytes_c2s + flow.bytes_s2c;
  }
}

std::string OtherTraffic::text(std::string_view transport) const {
  if (lookups_ == 0) return {};
  std::string out = std::format("{}: beside {} of its lookups the client had other flows:", transport, lookups_);
  for (const auto& [where, sum] : by_server_)
    out += std::format("{} {} to {} {} ({} packets, {} bytes)", &sum == &by_server_.begin()->second ? "" : ",", sum.flows,
                       where.first == "tcp" ? "TCP" : "UDP", where.second, sum.packets, sum.bytes);
  return out + "\n";
}

}  // namespace doxlab::report
