#pragma once
/// Whether two runs measured under the same conditions.

#include <string>
#include <vector>

#include "results/run.hpp"

namespace doxlab::compare {

/// What a run says of how it was made, whatever the experiment.
struct Conditions {
  const results::Environment& environment;
  const results::LinkSettings& link;
  const results::EndpointSettings& endpoints;
};

/// What forbids a comparison, each a sentence: the link, the question, the timeout, what lookups start from, a kernel
/// setting. On a link that draws nothing at random the seed may differ.
std::vector<std::string> obstacles(const Conditions& a, const Conditions& b);
/// What else differs: versions, machine, and what was asked of the endpoints.
std::vector<std::string> changes(const Conditions& a, const Conditions& b);

}  // namespace doxlab::compare
