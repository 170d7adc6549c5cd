#include "experiment/repro_verdict.hpp"

#include <algorithm>
#include <cmath>
#include <format>
#include <numeric>

#include "stats/proportion.hpp"

namespace doxlab::experiment {
namespace {

using results::ReproCell;
using results::ScriptedLoss;

constexpr std::uint64_t kMostHandshakes = 1'000'000;
/// A chain with which the published fault did not occur.
constexpr std::uint64_t kSmallChainBytes = 1500;

template <class Rows, class Member>
std::uint64_t sum(const Rows& rows, Member member) {
  return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0}, [&](auto n, const auto& row) { return n + row.*member; });
}

/// "; the controls fail as well (...)", or nothing.
std::string about_controls(const results::ReproRun& run) {
  std::uint64_t classical = 0, small_chain = 0;
  for (const auto& cell : run.cells) {
    if (!cell.post_quantum) classical += cell.with_fault;
    if (cell.chain_bytes <= kSmallChainBytes) small_chain += cell.with_fault;
  }
  if (classical == 0 && small_chain == 0) return {};
  return std::format("; {} of them with the classical group and {} with the small chain, where the published fault never occurred: "
                     "this one is wider", classical, small_chain);
}

}  // namespace

std::optional<std::uint64_t> handshakes_to_decide(double failed_share, double published_low) {
  const auto is_enough = [&](std::uint64_t n) {
    const auto failed = static_cast<std::size_t>(std::ceil(failed_share * static_cast<double>(n)));
    return stats::clopper_pearson(std::min<std::size_t>(failed, n), n).high < published_low;
  };
  std::uint64_t high = 1;
  while (!is_enough(high))
    if ((high *= 2) > kMostHandshakes) return std::nullopt;
  std::uint64_t low = high / 2;  // not enough, or 0
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    (is_enough(middle) ? high : low) = middle;
  }
  return high;
}

void decide(results::ReproRun& run) {
  run.handshakes_needed.reset();
  const auto by_chance = sum(run.cells, &ReproCell::with_fault);
  const auto by_script = sum(run.scripted, &ScriptedLoss::with_fault);
  const auto chosen = sum(run.scripted, &ScriptedLoss::attempts);
  if (by_chance + by_script > 0) {
    run.verdict = "affected";
    run.reason = std::format("the server never sent lost Initial CRYPTO data again in {} of {} handshakes with chosen losses and in {} of {} "
                             "with random ones{}", by_script, chosen, by_chance, sum(run.cells, &ReproCell::handshakes), about_controls(run));
    return;
  }
  run.verdict = "not decided";
  if (!run.complete) {
    run.reason = "the run did not come to its end";
    return;
  }
  if (chosen == 0) {
    run.reason = "in no handshake a packet with Initial CRYPTO data of the server could be lost by choice";
    return;
  }
  if (const auto failed = sum(run.scripted, &ScriptedLoss::failed); failed > 0) {
    run.reason = std::format("{} of {} handshakes with chosen losses failed, but the server did send again what was lost: another fault; "
                             "--find says which losses end a handshake", failed, chosen);
    return;
  }
  const ReproCell* open = nullptr;
  std::uint64_t needed = 0;
  bool can_be_decided = true;
  for (const auto& cell : run.cells) {
    if (!cell.published_failed || *cell.published_failed == 0 || cell.loss_percent < kTellingLossPercent) continue;
    const auto published = stats::clopper_pearson(*cell.published_failed, *cell.published_handshakes);
    if (cell.failed_high < published.low) continue;
    open = &cell;
    const auto share = cell.handshakes == 0 ? 0 : static_cast<double>(cell.failed) / static_cast<double>(cell.handshakes);
    const auto more = handshakes_to_decide(share, published.low);
    can_be_decided = can_be_decided && more;
    // As many as before may not do again: some are left out as disturbed.
    needed = std::max({needed, more.value_or(0), cell.handshakes + 1});
  }
  if (open == nullptr) {
    run.verdict = "not affected";
    run.reason = std::format("in {} of {} handshakes with a chosen loss the server made good for it, and the published rates at {:g}% loss and "
                             "more are excluded", chosen, chosen, kTellingLossPercent);
    return;
  }
  run.reason = std::format("with a chain of {} bytes at {:g}% loss {} of {} handshakes failed, which does not exclude the published {} of {}",
                           open->chain_bytes, open->loss_percent, open->failed, open->handshakes, *open->published_failed,
                           *open->published_handshakes);
  if (can_be_decided) run.handshakes_needed = needed;
  else run.reason += "; as many fail, but not by this fault";
}

}  // namespace doxlab::experiment
