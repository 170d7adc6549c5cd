#pragma once
/// A server that is not in the lab: asked once before it is measured.

#include <stop_token>

#include "experiment/sampler.hpp"
#include "experiment/setup.hpp"

namespace doxlab::experiment {

/// What a server elsewhere can be asked over; DNSCrypt would need its provider.
inline constexpr std::array kTransportsElsewhere{Transport::Do53, Transport::Do53Tcp, Transport::Dot,
                                                 Transport::Doh,  Transport::Doh3,    Transport::Doq};

/// More than this many lookups a second, or lookups in all, are for servers that one operates.
inline constexpr double kGentleRate = 5;
inline constexpr std::size_t kGentleTotal = 2000;

/// One lookup for each of setup.transports from the calling thread's network, without link and lab. The answer is then in
/// the server's cache, so that what is measured is the transport and not the server's own search. Transports that do not
/// answer go from `transports` to `not_offered`, with the reason in `not_answering`. Keeps to the setup's rate. A direct setup
/// learns what stands for the delay of a link.
/// Errors: std::runtime_error if no transport answers, with each reason.
void prime(Setup& setup, std::stop_token stop);

/// `sampling` kept to the rate that the setup's server may be asked with, if it is elsewhere; with a client that others
/// wrote, patient with a resolver that comes back from a pause.
SamplerOptions kept_gentle(SamplerOptions sampling, const Setup& setup);

}  // namespace doxlab::experiment
