#pragma once
/// Assertions about a run, as a TOML file has them (docs/check.md):
///
///   [[rule]]
///   name = "DoQ stays at two round trips"
///   transports = ["doq"]
///   round_trips = 2
///   bytes_total = "<= 9000 bytes"
///   no_cause = ["amplification_limit"]

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace doxlab::compare {

enum class Relation : std::uint8_t { Equal, Less, AtMost, Greater, AtLeast };

/// What a quantity must be.
struct Limit {
  std::string quantity;        ///< as in compare/quantity.hpp
  Relation relation = Relation::Equal;
  double value = 0;
  std::string text;            ///< "p99 <= 400 ms", for people
  bool allows(double measured) const;
};

struct Rule {
  std::string name;            ///< as given, or "rule 3"
  std::string experiment;      ///< "packets", "as_published", "pq", "warm", "loss"; empty: all that have the quantity
  std::string of_case;         ///< of pq and warm: the case's name; empty: all
  std::vector<std::string> transports;  ///< empty: all that were measured
  bool allow_noise = false;    ///< a limit is broken only if the whole 95% interval is beyond it
  std::vector<Limit> limits;
  std::vector<std::string> no_cause, no_finding;
};

/// The names that causes and findings have, so that a misspelt one is an error rather than never found.
struct Vocabulary {
  std::vector<std::string> causes, findings;
};

/// Errors: a sentence with the line where the text is no TOML, or with the rule and the key that cannot be. A file without
/// rules is an error, and so is a rule that asserts nothing.
Result<std::vector<Rule>> parse_rules(std::string_view toml, const Vocabulary& vocabulary);

}  // namespace doxlab::compare
