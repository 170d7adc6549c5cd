#pragma once
/// The JSON Schema of what doxlab writes, made from the same structs as the JSON.

#include <span>
#include <string>
#include <string_view>

namespace doxlab::results {

/// What has a schema: "study", "packets", "loss", "pq", "warm", "dropmap", "explain", "compare", "check", "advise".
std::span<const std::string_view> schema_names();
/// A schema (draft 2020-12) of the JSON of that name, pretty-printed with a final newline. Fields whose value is not known
/// are absent. Empty: no such name.
std::string json_schema(std::string_view name);

}  // namespace doxlab::results
