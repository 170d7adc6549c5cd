#include "results/study.hpp"

#include "results/json_reader.hpp"

namespace doxlab::results {
namespace {

struct LenientJson : glz::opts {
  bool error_on_unknown_keys = false;
};
constexpr LenientJson kLenient{};

/// What every file of doxlab says of itself.
struct KindOfFile {
  int schema_version = 0;
  std::string experiment;
};

template <class Record>
Result<Record> read_leniently(const std::string& text) {
  Record record;
  if (const auto error = glz::read<kLenient>(record, text))
    return fail(std::format("{}: {}", position(text, error.count),
                            error.ec == glz::error_code::unexpected_end || error.ec == glz::error_code::end_reached
                                ? "it ends in the middle"
                                : std::format("not what doxlab writes ({})", glz::format_error(error.ec))));
  return record;
}

/// Puts the one experiment where a study has it.
template <class Run>
Result<Study> alone(const std::string& text, std::optional<Run> Study::* place) {
  auto run = read_leniently<Run>(text);
  if (!run) return std::unexpected(run.error());
  Study out;
  out.command_line = run->command_line;
  out.complete = run->complete;
  if constexpr (requires { run->started; }) {
    out.started = run->started;
    out.duration_s = run->duration_s;
  } else if (!run->cases.empty()) {
    out.started = run->cases.front().run.started;
  }
  out.*place = std::move(*run);
  return out;
}

}  // namespace

namespace {

Result<Study> read_any(std::string_view json) {
  const std::string text(json);  // with the terminating zero that the reader relies on
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return fail("line 1, column 1: there is nothing in it");
  const auto kind = read_leniently<KindOfFile>(text);
  if (!kind) return std::unexpected(kind.error());
  if (kind->experiment.empty() || kind->schema_version == 0)
    return fail("no results of doxlab: schema_version and experiment are missing");
  if (kind->schema_version > kSchemaVersion)
    return fail(std::format("written by a newer doxlab (schema {}; this one reads up to {})", kind->schema_version,
                            kSchemaVersion));
  if (kind->experiment == "study") return read_leniently<Study>(text);
  if (kind->experiment == "packets") return alone(text, &Study::packets);
  if (kind->experiment == "pq") return alone(text, &Study::pq);
  if (kind->experiment == "warm") return alone(text, &Study::warm);
  if (kind->experiment == "loss") return alone(text, &Study::loss);
  if (kind->experiment == "dropmap") return alone(text, &Study::dropmap);
  return fail(std::format("results of the experiment \"{}\"; read are those of suite, packets, pq, warm, loss and dropmap", kind->experiment));
}

}  // namespace

Result<Study> parse_study(std::string_view json) {
  auto study = read_any(json);
  if (!study || !study->loss) return study;
  for (const auto& sample : study->loss->samples)
    if (const auto good = validate(sample); !good) return std::unexpected(good.error());
  std::ranges::stable_sort(study->loss->samples, {},
                           [](const auto& s) { return std::tie(s.transport, s.sample); });
  return study;
}

}  // namespace doxlab::results
