#pragma once
/// A study: the experiments that belong together, in one file. `doxlab suite` makes it whole; a file with one
/// experiment reads as a study of that one.

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "results/dropmap.hpp"
#include "results/loss.hpp"
#include "results/pq.hpp"
#include "results/run.hpp"
#include "results/warm.hpp"

namespace doxlab::results {

struct Study {
  int schema_version = kSchemaVersion;
  std::string experiment = "study";
  std::string command_line;
  std::string started;           ///< UTC, ISO 8601
  double duration_s = 0;
  bool complete = true;          ///< false: interrupted; what was measured is here
  std::optional<PacketsRun> packets;       ///< a clean path
  std::optional<PacketsRun> as_published;  ///< a clean path, the settings of the published measurement
  std::optional<PqRun> pq;
  std::optional<WarmRun> warm;
  std::optional<LossRun> loss;
  std::optional<DropmapRun> dropmap;
};

std::string to_json(const Study& study);

/// Reads a study, or a run of packets, pq, warm, loss or dropmap as a study of that alone. Fields that are missing have
/// their defaults, and fields that this doxlab does not know are passed over, so that older and newer files are read as
/// far as they go. The samples of a loss run come ordered by transport and number. Errors: a sentence that
/// says where the text is broken, or what it is if it is none of these, or which time cannot be.
Result<Study> parse_study(std::string_view json);

}  // namespace doxlab::results
