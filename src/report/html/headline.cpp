#include <algorithm>
#include <cmath>
#include <format>

#include "report/html/sections.hpp"
#include "report/html/words.hpp"
#include "report/order.hpp"

namespace doxlab::report::html {
namespace {

using results::PacketsRun;
using results::PacketsSummary;

bool is_encrypted(std::string_view transport) {
  return !transport.starts_with("do53");
}

const PacketsSummary* answered(const std::optional<PacketsRun>& run, const std::string& transport) {
  if (!run) return nullptr;
  const auto found = run->results.find(transport);
  return found != run->results.end() && found->second.samples > 0 && found->second.ms ? &found->second : nullptr;
}

/// The encrypted transports with the fewest round trips, the slowest ones, and plain DNS to compare with.
void say_fastest(std::vector<Sentence>& out, const PacketsRun& run) {
  struct Item {
    std::string name;
    std::uint64_t trips;
    double ms;
  };
  std::vector<Item> items;
  for (const auto* key : in_order(run.results)) {
    const auto& s = run.results.at(key);
    if (is_encrypted(key) && s.samples > 0 && s.ms && s.round_trips)
      items.push_back({transport_name(key), *s.round_trips, *s.ms});
  }
  if (items.empty()) return;
  const auto [least, most] = std::ranges::minmax(items, {}, &Item::trips);
  const auto group = [&](std::uint64_t trips) {
    std::vector<std::string> names;
    double low = 1e300, high = 0;
    for (const auto& item : items) {
      if (item.trips != trips) continue;
      names.push_back(item.name);
      low = std::min(low, item.ms);
      high = std::max(high, item.ms);
    }
    const auto time = ms_text(low) == ms_text(high) ? ms_text(low) : std::format("{} to {}", ms_text(low), ms_text(high));
    return std::pair{names, time};
  };
  const auto [fast, fast_ms] = group(least.trips);
  auto text = std::format("{} in {}, {}.", fast.size() == 1 ? "It answers" : "They answer",
                          counted(least.trips, "round trip", "round trips"), fast_ms);
  if (most.trips > least.trips) {
    const auto [slow, slow_ms] = group(most.trips);
    text += std::format(" {} {} {} ({}).", listed(slow), slow.size() == 1 ? "needs" : "need", most.trips, slow_ms);
  }
  if (const auto plain = run.results.find("do53"); plain != run.results.end() && plain->second.ms)
    text += std::format(" Plain Do53 takes {}.", ms_text(plain->second.ms));
  const auto verb = fast.size() == 1 ? " is" : " are";
  out.push_back({listed(fast) + verb + " fastest of the encrypted transports.", std::move(text)});
}

/// Why DoH3 is no faster than DoH where a Retry is asked for.
void say_retry(std::vector<Sentence>& out, const results::Study& study) {
  const auto* doh3 = answered(study.as_published, "doh3");
  const auto* doh = answered(study.as_published, "doh");
  if (!doh3 || !doh || !doh3->round_trips || !doh->round_trips || *doh3->round_trips < *doh->round_trips) return;
  const auto retries = std::ranges::count_if(doh3->raw, &results::PacketsSample::retry);
  double retry_ms = 0;
  if (doh3->accounting)
    if (const auto cause = doh3->accounting->causes.find("retry"); cause != doh3->accounting->causes.end())
      retry_ms = cause->second.mean_ms;
  if (retries == 0 && retry_ms == 0) return;
  std::string text = std::format("With a Retry before each connection DoH3 needs {}, {} {} for DoH over TCP.",
                                 counted(*doh3->round_trips, "round trip", "round trips"),
                                 doh3->round_trips == doh->round_trips ? "as many as" : "against",
                                 doh3->round_trips == doh->round_trips ? "are needed" : std::to_string(*doh->round_trips));
  if (retry_ms > 0) text += std::format(" The Retry takes {} of the {}.", ms_text(retry_ms), ms_text(doh3->ms));
  if (const auto* without = answered(study.packets, "doh3"); without && without->round_trips)
    text += std::format(" Without it DoH3 takes {} and {}.", counted(*without->round_trips, "round trip", "round trips"),
                        ms_text(without->ms));
  out.push_back({"A Retry takes back what QUIC saves.", std::move(text)});
}

/// The largest quantile that every transport's number of lookups supports.
double best_quantile(const results::LossRun& run) {
  double best = 0;
  for (const auto& q : run.results.begin()->second.quantiles) {
    const auto supported = std::ranges::all_of(run.results, [&](const auto& entry) {
      return std::ranges::any_of(entry.second.quantiles, [&](const auto& other) { return other.p == q.p && other.supported; });
    });
    if (supported && q.p <= 0.99) best = std::max(best, q.p);
  }
  return best;
}

/// How much of the mean time is waiting for a timer, where it is most and where it is least.
void say_waiting(std::string& text, const results::LossRun& run) {
  struct Item {
    std::string name;
    double share;
  };
  std::vector<Item> items;
  for (const auto* key : in_order(run.results)) {
    const auto& accounting = run.results.at(key).accounting;
    if (!is_encrypted(key) || !accounting) continue;
    double waited = 0, all = 0;
    for (const auto& [cause, total] : accounting->causes) {
      all += total.mean_ms;
      if (waits_for_timer(cause)) waited += total.mean_ms;
    }
    if (all > 0 && waited > 0) items.push_back({transport_name(key), waited / all});
  }
  if (items.size() < 2) return;
  const auto [least, most] = std::ranges::minmax(items, {}, &Item::share);
  text += std::format(" Waiting for timers is {:.0f}% of the mean time of {}, and {:.0f}% of that of {}.", most.share * 100, most.name,
                      least.share * 100, least.name);
}

void say_loss(std::vector<Sentence>& out, const results::LossRun& run) {
  if (run.results.empty()) return;
  const double p = best_quantile(run);
  std::vector<std::pair<double, std::string>> tails;
  std::vector<std::string> unanswered;
  for (const auto* key : in_order(run.results)) {
    const auto& s = run.results.at(key);
    for (const auto& q : s.quantiles)
      if (q.p == p && q.ms && !q.censored) tails.emplace_back(*q.ms, std::format("{} {}", transport_name(key), ms_text(*q.ms)));
    if (s.timeouts > 0) unanswered.push_back(std::format("{} {}", transport_name(key), percent(s.no_answer_share)));
  }
  std::ranges::sort(tails);
  std::string text;
  if (p > 0 && !tails.empty()) {
    std::vector<std::string> words;
    for (const auto& [ms, word] : tails) words.push_back(word);
    text = std::format("The slowest {:g}% of lookups take at least: {}.", (1 - p) * 100 < 1 ? (1 - p) * 100 : std::round((1 - p) * 100), listed(words));
  }
  if (!unanswered.empty()) text += std::format(" Without any answer: {}.", listed(unanswered));
  say_waiting(text, run);
  if (text.empty()) return;
  const auto lead = run.link.loss_percent > 0
                        ? std::format("With {:g}% of packets lost each way{}, timers decide the tail.", run.link.loss_percent, retry_text(run.endpoints))
                        : std::string("The tail of the distribution.");
  out.push_back({lead, std::move(text)});
}

void say_key_exchange(std::vector<Sentence>& out, const results::PqRun& run) {
  std::optional<std::int64_t> low, high;
  std::vector<std::string> more, fewer, same;
  for (const auto* key : in_order(run.results)) {
    const auto& c = run.results.at(key);
    if (c.delta) {
      low = std::min(low.value_or(*c.delta), *c.delta);
      high = std::max(high.value_or(*c.delta), *c.delta);
    }
    if (!c.pq_round_trips || !c.cl_round_trips) continue;
    auto& group = *c.pq_round_trips > *c.cl_round_trips ? more : *c.pq_round_trips < *c.cl_round_trips ? fewer : same;
    group.push_back(transport_name(key));
  }
  if (!low) return;
  const auto& first = run.results.begin()->second;
  auto text = std::format("{} instead of {} costs {} bytes a lookup", first.pq_group, first.cl_group,
                          *low == *high ? signed_whole(static_cast<double>(*low))
                                        : std::format("{} to {}", whole(static_cast<double>(*low)), whole(static_cast<double>(*high))));
  text += more.empty() ? " and no round trip." : std::format(", and round trips on {}.", listed(more));
  if (!fewer.empty())
    text += std::format(" On {} it saves one: its larger ClientHello fills two datagrams, and a server may send three times what it "
                        "received before it knows that the address is real, so that a certificate chain of {} bytes fits.",
                        listed(fewer), whole(static_cast<double>(run.endpoints.chain_bytes)));
  out.push_back({more.empty() && !fewer.empty() ? "The post-quantum key exchange costs bytes, and can save a round trip."
                 : more.empty() ? "The post-quantum key exchange costs bytes, not time." : "The post-quantum key exchange costs bytes and time.", std::move(text)});
}

}  // namespace

std::vector<Sentence> headline(const results::Study& study) {
  std::vector<Sentence> out;
  if (study.packets) say_fastest(out, *study.packets);
  else if (study.as_published) say_fastest(out, *study.as_published);
  say_retry(out, study);
  if (study.loss) say_loss(out, *study.loss);
  if (study.pq && !study.pq->results.empty()) say_key_exchange(out, *study.pq);
  return out;
}

}  // namespace doxlab::report::html
