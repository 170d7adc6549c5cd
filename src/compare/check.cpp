#include "compare/check.hpp"

#include <algorithm>
#include <format>
#include <functional>

#include "compare/quantity.hpp"

namespace doxlab::compare {
namespace {

using results::CheckedAssertion;

/// One transport in one experiment, and how to ask it.
struct Subject {
  std::string experiment, of_case, transport;
  double timeout_s = 0;
  const results::Accounting* accounting = nullptr;  ///< null: nothing was taken apart
  std::uint64_t answered = 0, n = 0;
  std::function<std::optional<Measured>(std::string_view)> measured;

  std::string where() const { return of_case.empty() ? experiment : std::format("{}/{}", experiment, of_case); }
};

void add_packets(std::vector<Subject>& out, const std::string& experiment, const std::string& of_case,
                 const std::map<std::string, results::PacketsSummary>& results, double timeout_s) {
  for (const auto& [transport, summary] : results)
    out.push_back({experiment, of_case, transport, timeout_s, summary.accounting ? &*summary.accounting : nullptr, summary.samples,
                   summary.samples + summary.no_answer,
                   [&summary, timeout_s](std::string_view quantity) { return measure(summary, quantity, timeout_s); }});
}

std::vector<Subject> subjects_of(const results::Study& study) {
  std::vector<Subject> out;
  const auto add_run = [&](const char* name, const std::optional<results::PacketsRun>& run) {
    if (run) add_packets(out, name, "", run->results, run->endpoints.timeout_s);
  };
  add_run("packets", study.packets);
  add_run("as_published", study.as_published);
  if (study.pq)
    for (const auto& one : study.pq->cases) add_packets(out, "pq", one.name, one.results, study.pq->endpoints.timeout_s);
  if (study.warm)
    for (const auto& one : study.warm->cases) add_packets(out, "warm", one.name, one.run.results, one.run.endpoints.timeout_s);
  if (study.loss)
    for (const auto& [transport, summary] : study.loss->results)
      out.push_back({"loss", "", transport, study.loss->endpoints.timeout_s, summary.accounting ? &*summary.accounting : nullptr,
                     summary.n, summary.n + summary.timeouts,
                     [&run = *study.loss, &summary, transport](std::string_view quantity) {
                       return measure(summary, samples_of(run, transport), quantity, run.endpoints.timeout_s);
                     }});
  return out;
}

bool is_meant(const Rule& rule, const Subject& subject) {
  return (rule.experiment.empty() || rule.experiment == subject.experiment) &&
         (rule.of_case.empty() || rule.of_case == subject.of_case) &&
         (rule.transports.empty() || std::ranges::find(rule.transports, subject.transport) != rule.transports.end());
}

/// "412.3 ms [350, 520], n = 300".
std::string evidence_of(const Measured& measured, std::string_view unit, double timeout_s) {
  const std::string space = unit.empty() ? "" : " ";
  const auto end = [&](const std::optional<double>& value) {
    return value ? std::format("{:.6g}", *value) : std::format("≥{:g} s", timeout_s);
  };
  std::string out = measured.censored ? std::format("at least {:g} s", timeout_s)
                                      : std::format("{:.6g}{}{}", measured.value.value_or(0), space, unit);
  if (measured.has_interval) out += std::format(" [{}, {}]", end(measured.low), end(measured.high));
  return out + std::format(", n = {}", measured.n);
}

bool holds(const Limit& limit, const Measured& measured, bool allow_noise, double timeout_s) {
  const double infinite = timeout_s * 1000;
  const double value = measured.value.value_or(infinite);
  if (limit.allows(value)) return true;
  if (!allow_noise || !measured.has_interval) return false;
  // Some value of the interval is allowed: one of its ends, or, for an equality, what is asked itself.
  const double low = measured.low.value_or(infinite), high = measured.high.value_or(infinite);
  if (limit.relation == Relation::Equal) return low <= limit.value && limit.value <= high;
  return limit.allows(low) || limit.allows(high);
}

std::string_view unit_of(std::string_view quantity) {
  for (const auto all : {packets_quantities(), loss_quantities()})
    if (const auto found = std::ranges::find(all, quantity, &Quantity::name); found != all.end()) return found->unit;
  return {};
}

void check_limit(std::vector<CheckedAssertion>& out, const Rule& rule, const Limit& limit, const Subject& subject) {
  const auto measured = subject.measured(limit.quantity);
  if (!measured) return;  // an experiment without this quantity is not meant
  CheckedAssertion it{rule.name, subject.where(), subject.transport, limit.text, false, {}};
  if (!measured->value && !measured->censored) {
    it.evidence = std::format("{} is not known: {}", limit.quantity,
                              measured->n == 0 ? "no lookup has it, or the samples are in another file"
                                               : std::format("{} lookups are too few", measured->n));
  } else {
    it.holds = holds(limit, *measured, rule.allow_noise, subject.timeout_s);
    it.evidence = std::format("{} is {}", limit.quantity, evidence_of(*measured, unit_of(limit.quantity), subject.timeout_s));
  }
  out.push_back(std::move(it));
}

/// An assertion that a cause or a finding is absent. `count` is of the lookups that have it.
CheckedAssertion absent(const Rule& rule, const Subject& subject, std::string asserted, std::uint64_t count, std::string evidence) {
  CheckedAssertion it{rule.name, subject.where(), subject.transport, std::move(asserted), false, std::move(evidence)};
  if (subject.accounting == nullptr) it.evidence = "not known: this file does not have the causes of its lookups";
  else it.holds = count == 0;
  return it;
}

void check_causes(std::vector<CheckedAssertion>& out, const Rule& rule, const Subject& subject) {
  const auto* accounting = subject.accounting;
  for (const auto& cause : rule.no_cause) {
    std::uint64_t count = 0;
    std::string evidence = std::format("in none of {} lookups", subject.answered);
    if (accounting != nullptr)
      if (const auto found = accounting->causes.find(cause); found != accounting->causes.end()) {
        count = found->second.lookups;
        evidence = std::format("in {} of {} lookups, at most {:.1f} ms in one", count, accounting->answered, found->second.max_ms);
      }
    out.push_back(absent(rule, subject, std::format("no cause {}", cause), count, evidence));
  }
  for (const auto& finding : rule.no_finding) {
    std::uint64_t count = 0;
    std::string evidence = std::format("in none of {} lookups", subject.n);
    if (accounting != nullptr)
      if (const auto found = accounting->findings.find(finding); found != accounting->findings.end()) {
        count = found->second.lookups;
        evidence = std::format("in {} of {} lookups, first in sample {}: {}", count, accounting->lookups,
                               found->second.first_sample, found->second.sentence);
      }
    out.push_back(absent(rule, subject, std::format("no finding {}", finding), count, evidence));
  }
}

/// What a rule asks for and nothing was found of: each transport that it names, or all of it.
void check_found(std::vector<CheckedAssertion>& out, std::size_t before, const Rule& rule) {
  const auto is_found = [&](std::string_view transport) {
    return std::any_of(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(),
                       [&](const auto& it) { return transport.empty() || it.transport == transport; });
  };
  const auto wanted = rule.transports.empty() ? std::vector<std::string>{""} : rule.transports;
  std::vector<CheckedAssertion> missing;
  for (const auto& transport : wanted)
    if (!is_found(transport))
      missing.push_back({rule.name, rule.experiment, transport, "is measured", false,
                         std::format("nothing to check: the file has no{}{}{}{}{} with this quantity",
                                     transport.empty() ? " results" : " " + transport, rule.experiment.empty() ? "" : " in ",
                                     rule.experiment, rule.of_case.empty() ? "" : "/", rule.of_case)});
  out.insert(out.end(), missing.begin(), missing.end());
}

}  // namespace

results::CheckRun check(const results::Study& study, std::span<const Rule> rules) {
  results::CheckRun out{.command_line = study.command_line, .started = study.started};
  const auto subjects = subjects_of(study);
  for (const auto& rule : rules) {
    const auto before = out.assertions.size();
    for (const auto& subject : subjects) {
      if (!is_meant(rule, subject)) continue;
      for (const auto& limit : rule.limits) check_limit(out.assertions, rule, limit, subject);
      check_causes(out.assertions, rule, subject);
    }
    check_found(out.assertions, before, rule);
  }
  return out;
}

}  // namespace doxlab::compare
