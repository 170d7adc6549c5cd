#include "report/server_line.hpp"

#include <array>
#include <format>

#include "report/mtu.hpp"
#include "report/order.hpp"

namespace doxlab::report {

std::string server_line(const results::EndpointSettings& endpoints) {
  if (endpoints.subject.empty() || endpoints.subject == "builtin") return {};
  std::string out = "Server: " + endpoints.subject;
  if (!endpoints.server_address.empty()) {
    out += " at " + endpoints.server_address;
    out += endpoints.direct ? ", asked directly; computing times are what exceeds the shortest way there and back\n"
                            : ", beyond the link and this machine's own way there, which computing times include\n";
    for (const auto& [transport, reason] : endpoints.not_answering) out += "Not measured: " + transport + ", " + reason + "\n";
    return out;
  }
  if (!endpoints.subject_version.empty()) out += "/" + endpoints.subject_version;
  for (std::size_t i = 0; i < endpoints.not_offered.size(); ++i)
    out += (i == 0 ? "; it does not offer " : ", ") + endpoints.not_offered[i];
  return out + "\n";
}

std::string path_text(const results::LinkSettings& link, const results::EndpointSettings& endpoints) {
  if (endpoints.direct) return "the path as it is";
  return std::format("{:g} ms each way, {}, loss {:g}% each way{}, seed {}", link.one_way_delay_ms, mtu_text(link), link.loss_percent,
                     link.burst.empty() ? "" : " in bursts (" + link.burst + ")", link.seed);
}

std::string counting_text(const std::map<std::string, std::string>& counted_by, std::uint64_t missed_packets) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kWays{{
      {"packet_socket", "by a packet socket, which sees what the device sends and receives"},
      {"datagrams", "at the socket, datagram by datagram, with IP and UDP headers as they are without options"},
      {"segments", "by the kernel, as TCP segments; an acknowledgement of the answer may be among those until it"},
  }};
  std::string out;
  for (const auto& [way, words] : kWays) {
    std::string who;
    for (const auto* transport : in_order(counted_by))
      if (counted_by.at(transport) == way) who += (who.empty() ? "" : ", ") + std::string(transport);
    if (!who.empty()) out += std::format("Counted {}: {}.\n", words, who);
  }
  if (!out.empty()) out += "What the path lost on its way to this machine is not seen (docs/elsewhere.md).\n";
  if (missed_packets > 0) out += std::format("WARNING: {} packets were missed; counts may be too low\n", missed_packets);
  return out;
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
