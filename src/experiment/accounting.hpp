#pragma once
/// Lookups of one transport that were taken apart, summed up as results keep it.

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "experiment/analysis.hpp"
#include "results/accounting.hpp"

namespace doxlab::experiment {

/// Keeps a short record of each lookup until the end (some 500 bytes), so that an interrupted run can leave out those
/// that do not count, and whole explanations of a few.
class AccountSums {
 public:
  /// In any order. Disturbed lookups stay out of it.
  void add(const Sample& sample, const Analysis& analysis);

  /// What the samples with numbers below `end` sum up to.
  results::Accounting finish(std::uint64_t end = std::numeric_limits<std::uint64_t>::max()) const;

 private:
  struct Part {
    std::uint8_t cause = 0;  // index into causes_
    Duration length{};
  };
  struct Owned {
    trace::Owner owner{};
    std::uint32_t c2s = 0, s2c = 0, after_c2s = 0, after_s2c = 0, repeated = 0;
  };
  struct Record {
    std::uint64_t sample = 0;
    std::optional<Duration> took;  // empty: no answer
    std::vector<Part> parts;       // each cause once
    std::vector<Owned> ledger;
    std::uint32_t findings = 0;    // bits, by trace::Finding
  };
  struct Cause {
    std::string json, display;
  };
  /// Of the least sample number that has it.
  template <class Value>
  struct First {
    std::uint64_t sample = std::numeric_limits<std::uint64_t>::max();
    Value value{};
  };
  struct Explained {
    std::uint64_t sample = 0;
    Duration took{};
    results::Explanation explanation;
  };

  std::uint8_t cause_index(const trace::Span& span);
  void keep_explanation(const Record& record, const Sample& sample, const Analysis& analysis);
  void sum_causes(results::Accounting& out, std::uint64_t end) const;
  void sum_ledger(results::Accounting& out, std::uint64_t end) const;
  void count_findings(results::Accounting& out, std::uint64_t end) const;
  void choose_explanations(results::Accounting& out, std::uint64_t end) const;

  std::vector<Cause> causes_;
  std::vector<Record> records_;
  std::map<trace::Finding, First<std::string>> sentences_;
  First<results::ExplainedStall> stall_;
  First<results::Explanation> unanswered_;
  std::vector<Explained> first_, slowest_;  // by number; the slowest first
};

}  // namespace doxlab::experiment
