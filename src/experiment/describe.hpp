#pragma once
/// What a run says about itself: environment, link, endpoints, precision, as records of `results`.

#include <string>
#include <utility>

#include "client/lookup.hpp"
#include "experiment/setup.hpp"
#include "lab/lab.hpp"
#include "results/run.hpp"

namespace doxlab::experiment {

/// `kernel_settings` by name, as they were in force at the client.
results::Environment describe_environment(const std::vector<std::pair<std::string, std::string>>& kernel_settings);
results::LinkSettings describe(const link::Impairments& impairments);
/// Of the setup's link; zeros where there is none.
results::LinkSettings describe_link(const Setup& setup);
results::EndpointSettings describe_endpoints(const Setup& setup);
results::LinkPrecision describe(const lab::LinkPrecision& precision);

/// What the answer of a lookup says of itself: the name of its RCODE, empty without an answer, and whether it has TC.
std::pair<std::string, bool> describe_answer(const client::LookupResult& result);

}  // namespace doxlab::experiment
