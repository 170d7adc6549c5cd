#include <glaze/glaze.hpp>

#include "results/advice.hpp"
#include "results/check.hpp"
#include "results/comparison.hpp"
#include "results/dropmap.hpp"
#include "results/explanation.hpp"
#include "results/loss.hpp"
#include "results/pq.hpp"
#include "results/preflight.hpp"
#include "results/query.hpp"
#include "results/repro.hpp"
#include "results/run.hpp"
#include "results/study.hpp"
#include "results/warm.hpp"
#include "results/sweep.hpp"

namespace doxlab::results {

namespace {

template <class Record>
std::string pretty(const Record& record) {
  std::string out;
  // Writing plain structs to a string cannot fail.
  (void)glz::write<glz::opts{.prettify = true}>(record, out);
  return out + '\n';
}

}  // namespace

std::string to_json(const PacketsRun& run) { return pretty(run); }
std::string to_json(const Explanation& explanation) { return pretty(explanation); }
std::string to_json(const QueryResult& result) { return pretty(result); }
std::string to_json(const WarmRun& run) { return pretty(run); }
std::string to_json(const PqRun& run) { return pretty(run); }
std::string to_json(const LossRun& run) { return pretty(run); }
std::string to_json(const DropmapRun& run) { return pretty(run); }
std::string to_json(const Study& study) { return pretty(study); }
std::string to_json(const Comparison& comparison) { return pretty(comparison); }
std::string to_json(const CheckRun& run) { return pretty(run); }
std::string to_json(const ReproRun& run) { return pretty(run); }
std::string to_json(const AdviceRun& run) { return pretty(run); }
std::string to_json(const SweepRun& run) { return pretty(run); }
std::string to_json(const PreflightRun& run) { return pretty(run); }

std::string to_json_line(const LossSample& sample) {
  std::string out;
  (void)glz::write_json(sample, out);
  return out;
}

}  // namespace doxlab::results
