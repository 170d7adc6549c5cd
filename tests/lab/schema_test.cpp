// What doxlab writes is what its schema says, by the word of a validator that is not ours.

#include <gmock/gmock.h>

#include <fstream>

#include "results/schema.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

constexpr const char* kValidator = R"(
import json, sys
import jsonschema
schema, document = (json.load(open(path)) for path in sys.argv[1:3])
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
errors = [f"{e.json_path}: {e.message[:200]}" for e in validator.iter_errors(document)]
# A validator that accepts everything would prove nothing.
document["schema_version"] = "one"
assert any(e.json_path == "$.schema_version" for e in validator.iter_errors(document))
print("\n".join(errors) or "valid")
)";

test::Finished validate(const std::string& schema, const std::string& document) {
  return test::run_program({"python3", "-c", kValidator, schema, document});
}

std::string write_schema(const test::TemporaryFolder& folder, std::string_view name) {
  const auto path = folder.file(std::string(name) + ".schema.json");
  std::ofstream(path) << results::json_schema(name);
  return path;
}

struct Written {
  const char* schema;
  std::vector<std::string> arguments;
};
std::ostream& operator<<(std::ostream& out, const Written& written) { return out << written.schema; }

class Schema : public testing::TestWithParam<Written> {};

TEST_P(Schema, HoldsForWhatIsWritten) {
  const test::TemporaryFolder folder;
  const auto document = folder.file("out.json");
  auto arguments = GetParam().arguments;
  arguments.insert(arguments.end(), {"--json", document});
  const auto finished = test::run_program(test::doxlab(arguments));
  ASSERT_EQ(finished.status, 0) << finished;
  const auto validated = validate(write_schema(folder, GetParam().schema), document);
  EXPECT_EQ(validated.output, "valid\n") << validated;
}

INSTANTIATE_TEST_SUITE_P(
    Of, Schema,
    testing::Values(Written{"packets", {"packets", "-n", "2"}},
                    Written{"loss", {"loss", "-n", "20", "--loss", "5", "--timeout", "3"}},
                    Written{"pq", {"pq", "-n", "1", "--only", "dot,doq"}}, Written{"warm", {"warm", "-n", "1", "--only", "doq"}},
                    Written{"dropmap", {"dropmap", "--only", "doq", "-n", "1"}},
                    Written{"repro", {"repro", "--find", "--only", "doq", "--subject", "builtin"}},
                    Written{"explain", {"explain", "--sample", "doh3/1", "--loss", "5"}},
                    Written{"advise", {"advise", "--only", "doq", "--retry", "always", "--loss", "0"}}),
    [](const auto& written) { return std::string(written.param.schema); });

TEST(SchemaFile, IsThatOfTheProgram) {
  std::ifstream in(DOXLAB_SOURCE_DIR "/docs/results.schema.json");
  const std::string published{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(published, results::json_schema("study")) << "doxlab schema > docs/results.schema.json";
}

}  // namespace
}  // namespace doxlab
