#pragma once
/// Answers that are none to the question: they count as answers, but not without a word.

#include <format>
#include <map>
#include <string>

namespace doxlab::report {

class UnusualAnswers {
 public:
  /// A sample of a packets or a loss run.
  template <class Sample>
  void add(const Sample& sample) {
    if (!sample.rcode.empty() && sample.rcode != "NOERROR") ++kinds_["have the RCODE " + sample.rcode];
    if (sample.truncated) ++kinds_["are truncated (TC)"];
  }
  /// A line for each kind; empty if there is none.
  std::string text(const std::string& transport, std::uint64_t answers) const {
    std::string out;
    for (const auto& [kind, count] : kinds_) out += std::format("NOTE: {}: {} of {} answers {}\n", transport, count, answers, kind);
    return out;
  }

 private:
  std::map<std::string, std::uint64_t> kinds_;
};

}  // namespace doxlab::report
