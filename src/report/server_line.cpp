#include "report/server_line.hpp"

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

}  // namespace doxlab::report
