#pragma once
/// What can be asked of a transport's results by name: "ms", "round_trips", "p99", "bytes_c2s" ... the fields of the
/// summaries in results/run.hpp and results/loss.hpp.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "results/study.hpp"
#include "stats/samples.hpp"

namespace doxlab::compare {

struct Quantity {
  std::string_view name;
  std::string_view unit;          ///< "ms", "bytes", "%"; empty: a count
  /// The quantile of the per-lookup values that it is; 0: it is none (a maximum, a mean, a share).
  double p = 0;
};

/// Of packets runs (also those within pq and warm), and of loss runs.
std::span<const Quantity> packets_quantities();
std::span<const Quantity> loss_quantities();

/// A quantity as it was measured.
struct Measured {
  std::optional<double> value;    ///< empty: at or beyond the timeout if `censored`, else not known
  bool censored = false;
  std::optional<double> low, high;  ///< 95% interval; an empty end: not known, or at or beyond the timeout
  bool has_interval = false;
  std::uint64_t n = 0;            ///< lookups that it is made of
};
/// Empty: such results have no such quantity.
std::optional<Measured> measure(const results::PacketsSummary& summary, std::string_view quantity, double timeout_s);
/// `samples` are those of this transport, and may be missing where the run has them elsewhere: then only what the
/// summary has is known.
std::optional<Measured> measure(const results::LossSummary& summary, std::span<const results::LossSample> samples,
                                std::string_view quantity, double timeout_s);

/// The per-lookup values behind a quantity with a quantile. Lookups without an answer count as censored for times and
/// are left out for counts; disturbed ones are left out.
stats::Samples values(std::span<const results::PacketsSample> samples, std::string_view quantity, double timeout_s);
stats::Samples values(std::span<const results::LossSample> samples, std::string_view quantity, double timeout_s);

/// The samples of one transport; the run's are ordered by transport.
std::span<const results::LossSample> samples_of(const results::LossRun& run, std::string_view transport);

}  // namespace doxlab::compare
