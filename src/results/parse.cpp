#include <cmath>

#include "results/json_reader.hpp"
#include "results/loss.hpp"

namespace doxlab::results {
namespace {

/// What every file of doxlab says of itself; the other fields are skipped.
struct Kind {
  int schema_version = 0;
  std::string experiment;
};

struct KindJson : glz::opts {
  bool error_on_missing_keys = true;
};

bool is_time(double ms) {
  return std::isfinite(ms) && ms >= 0;
}

}  // namespace

Result<void> check_kind(std::string_view text, std::string_view experiment, int schema_version) {
  static constexpr KindJson kOptions{{.error_on_unknown_keys = false}};
  Kind kind;
  const std::string buffer(text);
  if (const auto error = glz::read<kOptions>(kind, buffer))
    return error.ec == glz::error_code::missing_key
               ? fail("no results of doxlab: schema_version and experiment are missing")
               : fail(std::format("{}: broken JSON ({})", position(text, error.count),
                                  glz::format_error(error.ec)));
  if (kind.experiment != experiment)
    return fail(std::format("results of the experiment \"{}\", not of \"{}\"", kind.experiment, experiment));
  if (kind.schema_version != schema_version)
    return fail(std::format("written by {} doxlab (schema {}; this one reads {})",
                            kind.schema_version > schema_version ? "a newer" : "an older",
                            kind.schema_version, schema_version));
  return {};
}

Result<void> validate(const LossSample& sample) {
  if (sample.ms && !is_time(*sample.ms))
    return fail(
        std::format("sample {} of {}: {} ms is no time", sample.sample, sample.transport, *sample.ms));
  return {};
}

Result<LossSample> parse_loss_sample(std::string_view line) {
  auto sample = read_strictly<LossSample>(line);
  if (sample)
    if (const auto good = validate(*sample); !good) return std::unexpected(good.error());
  return sample;
}

Result<LossRun> parse_loss_run(std::string_view json) {
  if (const auto kind = check_kind(json, "loss", kSchemaVersion); !kind) return std::unexpected(kind.error());
  auto run = read_strictly<LossRun>(json);
  if (!run) return run;
  for (const auto& sample : run->samples)
    if (const auto good = validate(sample); !good) return std::unexpected(good.error());
  if (run->shard && run->shard->index >= run->shard->of)
    return fail(std::format("shard {} of {} is none", run->shard->index, run->shard->of));
  if (!is_time(run->endpoints.timeout_s))
    return fail(std::format("a timeout of {} s is none", run->endpoints.timeout_s));
  return run;
}

}  // namespace doxlab::results
