#include <algorithm>
#include <cmath>
#include <format>
#include <limits>

#include "report/html/parts.hpp"
#include "report/html/sections.hpp"
#include "report/order.hpp"
#include "report/quantile.hpp"

namespace doxlab::report::html {
namespace {

/// A step of the tail: this share of the lookups took at least so long. Of a quantile, `interval` says which.
struct TailPoint {
  std::string transport;
  double ms = 0, share = 0;
  std::string interval;
};

/// The interval of a quantile, at the share of lookups that take at least that long.
struct TailInterval {
  std::string transport;
  double share = 0, low = 0, high = 0;
};

struct TailData {
  std::vector<TailPoint> points;
  std::vector<TailInterval> intervals;
  Scale scale;
};

/// Intervals of the same quantile lie side by side: this factor apart in the share of lookups.
constexpr double kApart = 1.075;

constexpr double kPointsEachDecade = 70;
constexpr std::size_t kEveryOfTheLast = 60;

/// Few enough points for a page, at the same distance on the logarithmic axis; the last ones all.
void add_points(std::vector<TailPoint>& out, const std::string& name, std::vector<double> times, std::size_t lookups) {
  std::ranges::sort(times);
  auto last = std::numeric_limits<double>::lowest();
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto at_least = lookups - i;
    const double step = std::floor(std::log10(static_cast<double>(at_least)) * kPointsEachDecade);
    if (i > 0 && step == last && at_least > kEveryOfTheLast) continue;
    last = step;
    const double share = static_cast<double>(at_least) / static_cast<double>(lookups);
    out.push_back({name, std::round(times[i] * 1000) / 1000, share, {}});
  }
}

TailData tail_data(const results::LossRun& run) {
  TailData out;
  std::map<std::string, std::vector<double>> times;
  std::map<std::string, std::size_t> lookups;
  for (const auto& sample : run.samples) {
    if (sample.disturbed) continue;
    ++lookups[sample.transport];
    if (sample.ms && std::isfinite(*sample.ms) && *sample.ms > 0) times[sample.transport].push_back(*sample.ms);
  }
  const double timeout_ms = run.endpoints.timeout_s * 1000;
  std::vector<Paint> paints;
  const auto keys = in_order(run.results);
  for (const auto* key : keys) {
    const auto paint = transport_paint(key);
    const auto aside = std::pow(kApart, (static_cast<double>(keys.size()) - 1) / 2 - static_cast<double>(paints.size()));
    paints.push_back(paint);
    add_points(out.points, paint.name, std::move(times[key]), lookups[key]);
    for (const auto& q : run.results.at(key).quantiles) {
      if (!q.supported || !(q.p > 0 && q.p < 1)) continue;
      const double low = q.low_ms.value_or(timeout_ms), high = q.high_ms.value_or(timeout_ms), share = (1 - q.p) * aside;
      if (!(low > 0 && high >= low && std::isfinite(high))) continue;
      out.intervals.push_back({paint.name, share, low, high});
      if (q.ms && *q.ms > 0)
        out.points.push_back({paint.name, *q.ms, share, std::format("p{:g} {} ms", q.p * 100, quantile_text(q, run.endpoints.timeout_s))});
    }
  }
  out.scale = scale_of(paints);
  return out;
}

void add_quantile_table(Html& html, const results::LossRun& run) {
  std::vector<Column> columns = {{"transport", true}, {"lookups"}, {"no answer [95% interval]"}};
  std::vector<double> ps;
  for (const auto& [key, s] : run.results)
    for (const auto& q : s.quantiles)
      if (std::ranges::find(ps, q.p) == ps.end()) ps.push_back(q.p);
  std::ranges::sort(ps);
  for (const double p : ps) columns.push_back({std::format("p{:g}", p * 100)});
  columns.push_back({"slowest answer"});
  std::vector<std::vector<std::string>> rows;
  for (const auto* key : in_order(run.results)) {
    const auto& s = run.results.at(key);
    std::vector<std::string> row = {transport_name(key), whole(static_cast<double>(s.n + s.timeouts)),
                                    std::format("{} [{}, {}]", percent(s.no_answer_share), percent(s.no_answer_low), percent(s.no_answer_high))};
    for (const double p : ps) {
      const auto q = std::ranges::find(s.quantiles, p, &results::QuantileEstimate::p);
      row.push_back(q == s.quantiles.end() ? "–" : quantile_text(*q, run.endpoints.timeout_s));
    }
    row.push_back(ms_text(s.max));
    rows.push_back(std::move(row));
  }
  add_table(html, "Quantiles in ms with exact 95% intervals", columns, rows);
}

}  // namespace

void add_loss(Html& html, const results::Study& study) {
  if (!study.loss || study.loss->results.empty()) return;
  const auto& run = *study.loss;
  open_section(html, "loss", "The distribution under loss",
               std::format("Each line shows the share of lookups that took at least so long, on a path that loses {:g}% of the packets each "
                           "way{}{}. Both axes are logarithmic.",
                           run.link.loss_percent, run.link.burst.empty() ? "" : ", in bursts", retry_text(run.endpoints)));
  const auto data = tail_data(run);
  std::vector<Paint> legend;
  std::vector<std::string> names;
  for (const auto* key : in_order(run.results)) {
    legend.push_back(transport_paint(key));
    names.push_back(transport_name(key));
  }
  add_chart(html,
            {.spec = "tail",
             .label = std::format("Share of lookups over time on logarithmic axes, one line for each of {}.", listed(names)),
             .caption = std::format("Pale bars are exact 95% intervals of p50, p75, p90, p95, p99 and p99.9, side by side, where there are enough lookups. A lookup "
                                    "without an answer within {:g} s counts as longer than every other. Point at a line for its values; the "
                                    "names above hide and show lines.",
                                    run.endpoints.timeout_s),
             .data = to_json_text(data),
             .legend = legend,
             .can_hide = true},
            [&] { add_quantile_table(html, run); });
  if (run.samples.empty() && !run.samples_file.empty())
    html.element("p", "The single lookups are in a file of their own, so only quantiles are drawn.", {{"class", "note"}});
  if (!run.precision.within_1_ms) add_warning(html, "the link was more than 1 ms late at p99; the times of this run are not to be trusted.");
  if (!run.complete) add_warning(html, "this run is not complete.");
  html.close();
}

}  // namespace doxlab::report::html
