#pragma once
/// Texts that the build puts into the program: the scripts and styles of the report, its charts, and the engine that draws
/// them (cmake/Embed.cmake).

#include <string_view>

namespace doxlab::report::html {

struct Embedded {
  std::string_view text;
  std::string_view sha256;  ///< of the text, 64 hexadecimal digits
};

/// By file name: "report.css", "tail.vl.json", "vega.min.js", ... Errors: std::out_of_range.
Embedded embedded(std::string_view name);

}  // namespace doxlab::report::html
