#pragma once
/// JSON as a reader that does not share our structs sees it: by the names of its fields.

#include <glaze/glaze.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace doxlab::test {

using Json = glz::generic;

/// Errors: std::runtime_error that shows where the text is no JSON.
inline Json parse_json(const std::string& text) {
  auto json = glz::read_json<Json>(text);
  if (!json) throw std::runtime_error("not JSON: " + glz::format_error(json.error(), text));
  return std::move(*json);
}

inline double number(const Json& json, const std::string& name) {
  return json[name].get<double>();
}
inline std::string text(const Json& json, const std::string& name) {
  return json[name].get<std::string>();
}

/// Those of `names` that an object lacks.
inline std::vector<std::string> missing(const Json& json, const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const auto& name : names)
    if (!json.contains(name)) out.push_back(name);
  return out;
}

}  // namespace doxlab::test
