#pragma once
/// What a measurement needs of the machine, checked without a lab. Each function tries the thing itself where that is
/// possible; none leaves anything behind. Functions that take figures judge only.

#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "results/preflight.hpp"

namespace doxlab::experiment {

/// The four outcomes, with their texts.
results::PreflightCheck passed(std::string name, std::string found);
results::PreflightCheck warned(std::string name, std::string found, std::string why, std::string action);
results::PreflightCheck failed(std::string name, std::string found, std::string why, std::string action);
/// `needs`: the check that failed.
results::PreflightCheck skipped(std::string name, std::string_view needs);

/// Of the process as it was started: `is_root` if it needed no user namespace, else what became of the attempt to make
/// one (empty: it lives in it).
results::PreflightCheck check_privileges(bool is_root, const std::string& namespace_error);
results::PreflightCheck check_network_namespaces();
results::PreflightCheck check_tun_device();
results::PreflightCheck check_real_time_priority();

/// CLOCK_MONOTONIC as a reader of it sees it.
struct ClockFigures {
  std::string source;                  ///< of the kernel: "tsc", "kvm-clock", "hpet"; empty: unknown
  Duration resolution{}, step{};       ///< as the kernel says; the smallest difference between two readings
  Duration reading{};                  ///< what one reading costs
  bool goes_back = false;
};
ClockFigures measure_clock();
results::PreflightCheck judge_clock(const ClockFigures& clock);

/// How late a thread wakes, over sleeps of a millisecond.
struct TimerFigures {
  Duration p50{}, p99{}, max{};
};
TimerFigures measure_timers();
results::PreflightCheck judge_timers(const TimerFigures& timers);

struct ProcessorFigures {
  unsigned count = 0;                  ///< that this process may use
  double load = 0;                     ///< runnable threads, average over a minute
  /// Share of the last ten seconds in which something waited for a processor, percent; empty: the kernel does not tell.
  std::optional<double> pressure;
};
ProcessorFigures measure_processors();
results::PreflightCheck judge_processors(const ProcessorFigures& processors);

/// What UDP sockets get of the 4 MiB that the listeners ask for, in bytes.
std::size_t measure_receive_buffer();
results::PreflightCheck judge_receive_buffer(std::size_t bytes);

/// The settings of a lab's client as lab::Lab::kernel_settings() has them; `chosen` are those that the run asks for.
results::PreflightCheck judge_kernel_settings(const std::vector<std::pair<std::string, std::string>>& settings,
                                              const std::vector<std::pair<std::string, std::string>>& chosen);

}  // namespace doxlab::experiment
