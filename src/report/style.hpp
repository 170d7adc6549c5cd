#pragma once
/// How a report is to look.

#include <cstddef>
#include <cstdint>

namespace doxlab::report {

enum class Format : std::uint8_t { Text, Markdown, Csv };

struct Style {
  Format format = Format::Text;
  std::size_t columns = 0;  ///< of the terminal; 0: as wide as need be
  bool has_colour = false;  ///< the terminal's own colours (ECMA-48)
};

}  // namespace doxlab::report
