#pragma once
/// From what was found in the lookups of a setup to the changes that might end it, one thing at a time.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiment/setup.hpp"

namespace doxlab::experiment {

/// A finding in the lookups of one transport.
struct Found {
  Transport transport{};
  std::string finding;                     ///< as trace::to_string(trace::Finding)
  std::optional<std::uint64_t> shortfall;  ///< bytes by which the server's first flight was too large, if that is it
};

/// A setup in which one thing differs, for the transports that have the finding.
struct Proposal {
  std::string finding;
  std::string change;   ///< in words
  std::string options;  ///< what makes it on the command line
  Setup setup;          ///< `transports` are those that have the finding
};

/// In the order of the findings, the likely best change of each first. A finding for which nothing can be changed in
/// our own client and resolver has none. With transports that lack different numbers of bytes, a change is one
/// for the greatest.
std::vector<Proposal> propose(const Setup& setup, std::span<const Found> found);

}  // namespace doxlab::experiment
