#include "link/path.hpp"

#include <algorithm>
#include <format>
#include <limits>
#include <stdexcept>

#include "base/draw.hpp"

namespace doxlab::link {
namespace {

constexpr std::uint64_t kEverySample = std::numeric_limits<std::uint64_t>::max();

DrawCoordinates coordinates(std::uint64_t seed, const PacketPlace& place, DrawPurpose purpose) {
  return {.seed = seed,
          .sample = place.sample,
          .direction = static_cast<std::uint32_t>(place.direction),
          .index = place.index,
          .purpose = purpose};
}

void require_probability(double value, std::string_view name) {
  // Written so that a NaN is refused as well.
  if (!(value >= 0 && value <= 1))
    throw std::invalid_argument(std::format("{} is {}, not between 0 and 1", name, value));
}

void validate(const Impairments& impairments) {
  require_probability(impairments.loss_probability, "loss probability");
  require_probability(impairments.duplicate_probability, "duplicate probability");
  require_probability(impairments.corrupt_probability, "corrupt probability");
  require_probability(impairments.reorder_probability, "reorder probability");
  if (impairments.burst) {
    require_probability(impairments.burst->p, "burst p");
    require_probability(impairments.burst->r, "burst r");
    require_probability(impairments.burst->one_minus_h, "burst 1-h");
    require_probability(impairments.burst->one_minus_k, "burst 1-k");
  }
  if (impairments.one_way_delay < Duration::zero())
    throw std::invalid_argument("the one-way delay is negative");
  for (const auto& event : impairments.script)
    if (event.extra_delay < Duration::zero()) throw std::invalid_argument("a scripted delay is negative");
}

}  // namespace

std::string_view to_string(Direction d) {
  return d == Direction::ToServer ? "c2s" : "s2c";
}

std::string_view to_string(Fate f) {
  switch (f) {
    case Fate::Delivered:
      return "delivered";
    case Fate::Lost:
      return "lost";
    case Fate::Scripted:
      return "dropped by script";
    case Fate::QueueFull:
      return "queue full";
    case Fate::TooBig:
      return "too big";
  }
  return "unknown";
}

Path::Path(Impairments impairments) : impairments_(std::move(impairments)), script_(impairments_.script) {
  validate(impairments_);
  for (auto& event : script_)
    if (event.every_sample) event.place.sample = kEverySample;
  std::ranges::stable_sort(script_, {}, &Scripted::place);
}

Verdict Path::accept(const PacketPlace& place, std::size_t ip_bytes, std::size_t ip_header_bytes,
                     Timestamp now) {
  const auto events = events_of(place);
  const auto is_scripted = [&](Scripted::Action action) {
    return std::ranges::contains(events, action, &Scripted::action);
  };
  const auto happens = [&](double probability, DrawPurpose purpose) {
    return events.empty() && probability > 0 &&
           draw_unit(coordinates(impairments_.seed, place, purpose)) < probability;
  };

  Verdict verdict;
  if (ip_bytes > (impairments_.path_mtu > 0 ? impairments_.path_mtu : impairments_.mtu)) return verdict.fate = Fate::TooBig, verdict;
  if (is_scripted(Scripted::Action::Drop)) return verdict.fate = Fate::Scripted, verdict;
  if (events.empty() && is_lost(place)) return verdict.fate = Fate::Lost, verdict;
  const auto left_bottleneck = pass_bottleneck(place.direction, ip_bytes, now);
  if (!left_bottleneck) return verdict.fate = Fate::QueueFull, verdict;

  verdict.due = *left_bottleneck;
  if (!happens(impairments_.reorder_probability, DrawPurpose::Reorder))
    verdict.due += impairments_.one_way_delay;
  for (const auto& event : events)
    if (event.action == Scripted::Action::Delay) verdict.due += event.extra_delay;

  verdict.duplicated = is_scripted(Scripted::Action::Duplicate) ||
                       happens(impairments_.duplicate_probability, DrawPurpose::Duplicate);
  if (ip_bytes > ip_header_bytes && (is_scripted(Scripted::Action::Corrupt) ||
                                     happens(impairments_.corrupt_probability, DrawPurpose::Corrupt))) {
    const auto bits = (ip_bytes - ip_header_bytes) * 8;
    verdict.flipped_bit = draw_bits(coordinates(impairments_.seed, place, DrawPurpose::CorruptedBit)) % bits;
  }
  return verdict;
}

bool Path::is_lost(const PacketPlace& place) const {
  double probability = impairments_.loss_probability;
  if (const auto& burst = impairments_.burst)
    probability = is_bad_state(place) ? burst->one_minus_h : burst->one_minus_k;
  return probability > 0 && draw_unit(coordinates(impairments_.seed, place, DrawPurpose::Loss)) < probability;
}

bool Path::is_bad_state(const PacketPlace& place) const {
  // One draw moves the chain from either state: good to bad if it is below p, bad stays bad if it is below
  // 1-r. Most draws therefore lead to the same state from both, so walking back to the latest such draw
  // gives the state without a memory of earlier packets, after 1/(p+r) steps on average.
  const double p = impairments_.burst->p, stay_bad = 1 - impairments_.burst->r;
  const double always_bad = std::min(p, stay_bad), always_good = std::max(p, stay_bad);
  const bool between_swaps = p > stay_bad;
  bool swapped = false;
  auto at = coordinates(impairments_.seed, place, DrawPurpose::BurstState);
  for (; at.index > 0; --at.index) {
    const double draw = draw_unit(at);
    if (draw < always_bad) return !swapped;
    if (draw >= always_good) return swapped;
    swapped ^= between_swaps;
  }
  const double sum = p + impairments_.burst->r;
  const bool starts_bad = sum > 0 && draw_unit(at) < p / sum;
  return starts_bad != swapped;
}

std::vector<Scripted> Path::events_of(const PacketPlace& place) const {
  std::vector<Scripted> events;
  if (script_.empty()) return events;
  for (const auto& key : {place, PacketPlace{kEverySample, place.direction, place.index}})
    std::ranges::copy(std::ranges::equal_range(script_, key, {}, &Scripted::place),
                      std::back_inserter(events));
  return events;
}

std::optional<Timestamp> Path::pass_bottleneck(Direction direction, std::size_t ip_bytes, Timestamp now) {
  const auto rate = impairments_.bottleneck_rate_bps;
  if (rate == 0) return now;
  auto& free_at = bottleneck_free_[static_cast<std::size_t>(direction)];
  if (free_at > now && impairments_.queue_limit_bytes > 0) {
    // What is still waiting, the packet in transmission included, is what the time until free can carry.
    const double waiting = static_cast<double>((free_at - now).count()) * static_cast<double>(rate) / 8e9;
    if (waiting + static_cast<double>(ip_bytes) > static_cast<double>(impairments_.queue_limit_bytes))
      return std::nullopt;
  }
  const auto bit_nanoseconds = static_cast<std::uint64_t>(ip_bytes) * 8 * 1'000'000'000;
  const Duration transmission{static_cast<std::int64_t>((bit_nanoseconds + rate - 1) / rate)};
  free_at = std::max(free_at, now) + transmission;
  return free_at;
}

}  // namespace doxlab::link
