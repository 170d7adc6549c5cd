#include "experiment/accounting.hpp"

#include <algorithm>

namespace doxlab::experiment {
namespace {

/// Among so many lookups there is one close to the median. Of the slowest several are kept, as those of an interrupted
/// run may not count.
constexpr std::size_t kFirstKept = 64, kSlowestKept = 8;

constexpr std::string_view kUnexplained = "unexplained";

}  // namespace

std::uint8_t AccountSums::cause_index(const trace::Span& span) {
  auto name = trace::cause_name(span);
  const auto found = std::ranges::find(causes_, name, &Cause::json);
  const auto index = static_cast<std::uint8_t>(found - causes_.begin());
  if (found == causes_.end()) causes_.push_back({std::move(name), trace::cause_display_name(span)});
  return index;
}

void AccountSums::add(const Sample& sample, const Analysis& analysis) {
  if (sample.disturbed) return;
  auto& record = records_.emplace_back();
  record.sample = sample.task.sample;
  if (analysis.causes) {
    record.took = *sample.result.answered - sample.result.started;
    for (const auto& span : analysis.causes->spans) {
      const auto cause = cause_index(span);
      auto part = std::ranges::find(record.parts, cause, &Part::cause);
      if (part == record.parts.end()) part = record.parts.insert(part, {.cause = cause});
      part->length += span.length();
    }
    if (analysis.causes->stall && record.sample < stall_.sample)
      stall_ = {record.sample, describe_stall(*analysis.causes->stall)};
  }
  for (std::size_t i = 0; i < trace::kOwners; ++i) {
    const auto owner = static_cast<trace::Owner>(i);
    const auto& before = analysis.until_answer[owner];
    const auto& after = analysis.after_answer[owner];
    if (before.total() + after.total() == 0) continue;
    const auto narrow = [](std::uint64_t bytes) { return static_cast<std::uint32_t>(bytes); };
    record.ledger.push_back({owner, narrow(before.to_server), narrow(before.to_client), narrow(after.to_server),
                             narrow(after.to_client), narrow(before.repeated + after.repeated)});
  }
  for (const auto& found : analysis.findings) {
    record.findings |= 1U << static_cast<unsigned>(found.finding);
    if (auto& first = sentences_[found.finding]; record.sample < first.sample) first = {record.sample, found.sentence};
  }
  keep_explanation(record, sample, analysis);
}

void AccountSums::keep_explanation(const Record& record, const Sample& sample, const Analysis& analysis) {
  if (!record.took) {
    if (record.sample < unanswered_.sample) unanswered_ = {record.sample, explain(sample, analysis)};
    return;
  }
  const auto keep = [&](std::vector<Explained>& kept, std::size_t most, auto goes_first) {
    const Explained key{.sample = record.sample, .took = *record.took, .explanation = {}};
    if (kept.size() == most && !goes_first(key, kept.back())) return;
    if (kept.size() == most) kept.pop_back();
    const auto place = std::ranges::upper_bound(kept, key, goes_first);
    kept.insert(place, {record.sample, *record.took, explain(sample, analysis)});
  };
  keep(first_, kFirstKept, [](const Explained& a, const Explained& b) { return a.sample < b.sample; });
  keep(slowest_, kSlowestKept, [](const Explained& a, const Explained& b) { return a.took > b.took; });
}

results::Accounting AccountSums::finish(std::uint64_t end) const {
  results::Accounting out;
  for (const auto& record : records_) {
    if (record.sample >= end) continue;
    ++out.lookups;
    out.answered += record.took.has_value();
  }
  sum_causes(out, end);
  sum_ledger(out, end);
  count_findings(out, end);
  if (stall_.sample < end) out.stall = stall_.value;
  choose_explanations(out, end);
  return out;
}

void AccountSums::sum_causes(results::Accounting& out, std::uint64_t end) const {
  struct Sum {
    std::uint64_t lookups = 0;
    Duration total{}, most{};
  };
  std::vector<Sum> sums(causes_.size());
  for (const auto& record : records_) {
    if (record.sample >= end) continue;
    for (const auto& part : record.parts) {
      auto& sum = sums[part.cause];
      ++sum.lookups;
      sum.total += part.length;
      sum.most = std::max(sum.most, part.length);
      if (causes_[part.cause].json == kUnexplained) out.unexplained.push_back({record.sample, to_ms(part.length)});
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (sums[i].lookups > 0)
      out.causes[causes_[i].json] = {causes_[i].display, sums[i].lookups, to_ms(sums[i].total) / static_cast<double>(out.answered),
                                     to_ms(sums[i].most)};
  std::ranges::sort(out.unexplained, {}, &results::UnexplainedTime::sample);
}

void AccountSums::sum_ledger(results::Accounting& out, std::uint64_t end) const {
  std::array<results::OwnerMean, trace::kOwners> sums{};
  for (const auto& record : records_) {
    if (record.sample >= end) continue;
    for (const auto& owned : record.ledger) {
      auto& sum = sums[static_cast<std::size_t>(owned.owner)];
      sum.c2s += owned.c2s;
      sum.s2c += owned.s2c;
      sum.after_c2s += owned.after_c2s;
      sum.after_s2c += owned.after_s2c;
      sum.repeated += owned.repeated;
    }
  }
  const auto lookups = static_cast<double>(out.lookups);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto& sum = sums[i];
    if (sum.c2s + sum.s2c + sum.after_c2s + sum.after_s2c > 0)
      out.ledger[std::string(trace::to_string(static_cast<trace::Owner>(i)))] = {
          sum.c2s / lookups, sum.s2c / lookups, sum.after_c2s / lookups, sum.after_s2c / lookups, sum.repeated / lookups};
  }
}

void AccountSums::count_findings(results::Accounting& out, std::uint64_t end) const {
  for (const auto& [finding, first] : sentences_) {
    if (first.sample >= end) continue;
    const auto bit = 1U << static_cast<unsigned>(finding);
    const auto lookups = std::ranges::count_if(
        records_, [&](const Record& record) { return record.sample < end && (record.findings & bit) != 0; });
    out.findings[std::string(trace::to_string(finding))] = {static_cast<std::uint64_t>(lookups), first.sample, first.value};
  }
}

void AccountSums::choose_explanations(results::Accounting& out, std::uint64_t end) const {
  std::vector<Duration> times;
  for (const auto& record : records_)
    if (record.sample < end && record.took) times.push_back(*record.took);
  if (!times.empty()) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
    std::ranges::nth_element(times, middle);
    const Explained* nearest = nullptr;
    for (const auto* kept : {&first_, &slowest_})
      for (const auto& one : *kept)
        if (one.sample < end &&
            (nearest == nullptr || std::chrono::abs(one.took - *middle) < std::chrono::abs(nearest->took - *middle)))
          nearest = &one;
    if (nearest != nullptr) out.median = nearest->explanation;
    const auto greatest = std::ranges::max(times);
    for (const auto& one : slowest_)
      if (one.sample < end && one.took == greatest) out.slowest = one.explanation;
  }
  if (unanswered_.sample < end) out.slowest = unanswered_.value;
}

}  // namespace doxlab::experiment
