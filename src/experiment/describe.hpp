#pragma once
/// What a run says about itself: environment, link, endpoints, precision, as records of `results`.

#include "experiment/setup.hpp"
#include "lab/lab.hpp"
#include "results/run.hpp"

namespace doxlab::experiment {

results::Environment describe_environment(const lab::Lab& lab);
results::LinkSettings describe(const link::Impairments& impairments);
results::EndpointSettings describe_endpoints(const Setup& setup);
results::LinkPrecision describe(const lab::LinkPrecision& precision);

}  // namespace doxlab::experiment
