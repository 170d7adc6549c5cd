#pragma once
/// A run against rules, for continuous integration.

#include <span>

#include "compare/rules.hpp"
#include "results/check.hpp"
#include "results/study.hpp"

namespace doxlab::compare {

/// Every rule against every experiment, case and transport that it names. What a rule names and the study does not
/// have, or has no figure for, does not hold: an assertion that checks nothing would be a silent one. File names are the
/// caller's to fill in.
results::CheckRun check(const results::Study& study, std::span<const Rule> rules);

}  // namespace doxlab::compare
