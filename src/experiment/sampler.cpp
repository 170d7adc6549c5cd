#include "experiment/sampler.hpp"

#include <algorithm>
#include <vector>

namespace doxlab::experiment {
namespace {

// The rate is judged anew after this many lookups: few, because at a low rate they take long, and a rate that a
// hiccup of the machine has lowered must come back.
constexpr std::size_t kWindow = 16;

bool is_disturbed(const Sample& sample, const SamplerOptions& options) {
  return sample.link_lateness > options.link_tolerance || sample.loop_lag > options.loop_tolerance;
}

/// Slower at once when lookups are disturbed, faster a little at a time when none is.
class RateControl {
 public:
  explicit RateControl(const SamplerOptions& options) : options_(options), interval_(options.first_interval) {}

  /// True if the interval has changed.
  bool note(bool disturbed) {
    ++seen_;
    disturbed_ += disturbed;
    if (seen_ < kWindow) return false;
    // A single one is what repeating makes good without costing more than it gains.
    if (disturbed_ > 1) interval_ = std::min(interval_ * 3 / 2, options_.greatest_interval);
    else if (disturbed_ == 0) interval_ = std::max(interval_ * 17 / 20, options_.least_interval);
    seen_ = disturbed_ = 0;
    return true;
  }

  Duration interval() const { return interval_; }

 private:
  const SamplerOptions& options_;
  Duration interval_;
  std::size_t seen_ = 0, disturbed_ = 0;
};

}  // namespace

bool run_sampler(Rig& rig, std::span<const Task> tasks, const SamplerOptions& options,
                 const std::function<void(Sample&&)>& on_sample, const std::function<void(const SamplerStatus&)>& on_status,
                 std::stop_token stop) {
  RateControl rate(options);
  SamplerStatus status{.of = tasks.size()};
  const auto started = monotonic_now();
  std::vector<Task> now(tasks.begin(), tasks.end()), again;
  for (std::size_t attempt = 1; !now.empty(); ++attempt) {
    const bool last = attempt >= options.attempts;
    const bool finished = rig.run(
        now, {.interval = rate.interval(), .in_flight = options.in_flight},
        [&](Sample&& sample) {
          const bool disturbed = is_disturbed(sample, options);
          if (rate.note(disturbed)) rig.set_interval(rate.interval());
          if (disturbed && !last) {
            again.push_back(sample.task);
            ++status.repeated;
          } else {
            sample.disturbed = disturbed;
            status.disturbed += disturbed;
            ++status.done;
            on_sample(std::move(sample));
          }
          const auto seconds = to_ms(monotonic_now() - started) / 1000;
          status.per_second = seconds > 0 ? static_cast<double>(status.done) / seconds : 0;
          if (on_status) on_status(status);
        },
        stop);
    if (!finished) return false;
    now = std::exchange(again, {});
  }
  return true;
}

}  // namespace doxlab::experiment
