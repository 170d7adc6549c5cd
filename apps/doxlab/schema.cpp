#include "results/schema.hpp"

#include <memory>
#include <vector>

#include "commands.hpp"
#include "files.hpp"

namespace doxlab::app {

Command add_schema(CLI::App& parent) {
  auto* command = parent.add_subcommand("schema", "The JSON Schema of what --json writes");
  auto name = std::make_shared<std::string>("study");
  const std::vector<std::string> names(results::schema_names().begin(), results::schema_names().end());
  command->add_option("WHAT", *name, "Whose: results.json is a study")->check(CLI::IsMember(names))->capture_default_str();
  command->footer("Example:\n  doxlab schema loss > loss.schema.json");
  return {command,
          [name](const Invocation&) {
            write_output("-", results::json_schema(*name));
            return kOk;
          },
          [] { return false; }};
}

}  // namespace doxlab::app
