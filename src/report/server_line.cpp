#include "report/server_line.hpp"

namespace doxlab::report {

std::string server_line(const results::EndpointSettings& endpoints) {
  if (endpoints.subject.empty() || endpoints.subject == "builtin") return {};
  std::string out = "Server: " + endpoints.subject;
  if (!endpoints.subject_version.empty()) out += "/" + endpoints.subject_version;
  for (std::size_t i = 0; i < endpoints.not_offered.size(); ++i)
    out += (i == 0 ? "; it does not offer " : ", ") + endpoints.not_offered[i];
  return out + "\n";
}

}  // namespace doxlab::report
