#pragma once
/// The limit on what a server sends before it has validated the client's address (RFC 9000 §8.1). Internal.

#include <span>
#include <vector>

#include "trace/causes.hpp"

namespace doxlab::trace {

inline constexpr std::uint64_t kAmplificationFactor = 3;

/// True if the server could not have sent `r` without having received `q`: until `q` arrived the address was not
/// validated, and `r` went beyond three times what had arrived.
bool is_beyond_limit(const dissect::Dissection& dissection, std::span<const dissect::ObservedPacket> packets,
                     const std::vector<Carried>& carried, std::uint32_t q, std::uint32_t r);

/// What stood behind such a packet.
AmplificationStall describe_stall(const dissect::Dissection& dissection, std::span<const dissect::ObservedPacket> packets,
                                  const std::vector<Carried>& carried, std::uint32_t q, std::uint32_t r);

}  // namespace doxlab::trace
