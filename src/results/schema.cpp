#include "results/schema.hpp"

#include <array>
#include <glaze/glaze.hpp>
#include <stdexcept>

#include "results/advice.hpp"
#include "results/check.hpp"
#include "results/comparison.hpp"
#include "results/explanation.hpp"
#include "results/preflight.hpp"
#include "results/repro.hpp"
#include "results/study.hpp"

namespace doxlab::results {
namespace {

template <class Record>
std::string schema_of() {
  const auto written = glz::write_json_schema<Record>();
  if (!written || !written->starts_with('{')) throw std::logic_error("a record without a JSON Schema");
  return glz::prettify_json(
             R"({"$schema":"https://json-schema.org/draft/2020-12/schema","required":["schema_version","experiment"],)" +
             written->substr(1)) +
         '\n';
}

struct NamedSchema {
  std::string_view name;
  std::string (*write)();
};
constexpr std::array kSchemas = {
    NamedSchema{"study", schema_of<Study>},       NamedSchema{"packets", schema_of<PacketsRun>},
    NamedSchema{"loss", schema_of<LossRun>},      NamedSchema{"pq", schema_of<PqRun>},
    NamedSchema{"warm", schema_of<WarmRun>},      NamedSchema{"dropmap", schema_of<DropmapRun>},
    NamedSchema{"explain", schema_of<Explanation>}, NamedSchema{"compare", schema_of<Comparison>},
    NamedSchema{"check", schema_of<CheckRun>},
    NamedSchema{"repro", schema_of<ReproRun>},
    NamedSchema{"advise", schema_of<AdviceRun>},
    NamedSchema{"preflight", schema_of<PreflightRun>},
};

constexpr auto kSchemaNames = [] {
  std::array<std::string_view, kSchemas.size()> out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kSchemas[i].name;
  return out;
}();

}  // namespace

std::span<const std::string_view> schema_names() { return kSchemaNames; }

std::string json_schema(std::string_view name) {
  for (const auto& schema : kSchemas)
    if (schema.name == name) return schema.write();
  return {};
}

}  // namespace doxlab::results
