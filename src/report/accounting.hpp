#pragma once
/// Where the time and the bytes of many lookups went, and what was found in them, as text of at most 110 columns.

#include <map>
#include <string>
#include <string_view>

#include "report/document.hpp"
#include "results/accounting.hpp"
#include "results/loss.hpp"
#include "results/run.hpp"

namespace doxlab::report {

/// What is printed of a transport.
struct Accounted {
  std::string_view transport;  ///< display name
  const results::Accounting& accounting;
};
/// By the name of the transport; without those that were not taken apart. Borrows from the run.
std::map<std::string, Accounted> accounted(const results::PacketsRun& run);
std::map<std::string, Accounted> accounted(const results::LossRun& run);

/// Means over the answered lookups, a column for each kind of cause that occurs. Empty without any.
Document time_text(const std::map<std::string, Accounted>& all);
/// Means over all lookups until the answer, a column for each kind of owner.
Document bytes_text(const std::map<std::string, Accounted>& all);
/// A line for each finding of a transport with the lookups that have it, then the lookups with unexplained time.
Document findings_text(const std::map<std::string, Accounted>& all);

/// A finding in a few words: "Retry cost a round trip". The name itself if it is of a newer doxlab.
std::string finding_words(std::string_view finding);

}  // namespace doxlab::report
