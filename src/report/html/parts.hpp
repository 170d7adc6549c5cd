#pragma once
/// What sections are made of: tables, charts with their legend and figures, notes.

#include <functional>
#include <glaze/glaze.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "report/html/html.hpp"
#include "report/html/words.hpp"

namespace doxlab::report::html {

template <class T>
std::string to_json_text(const T& value) {
  struct Options : glz::opts {
    bool escape_control_characters = true;
  };
  std::string out;
  // Writing plain structs to a string cannot fail.
  (void)glz::write<Options{}>(value, out);
  return out;
}

struct Column {
  std::string title;
  bool is_text = false;  ///< figures are set to the right
};

/// A table in a box of its own that scrolls where the page is too narrow. The first cell of a row is its heading.
void add_table(Html& html, std::string_view caption, const std::vector<Column>& columns,
               const std::vector<std::vector<std::string>>& rows);

struct Chart {
  std::string spec;     ///< the file charts/SPEC.vl.json
  std::string label;    ///< what a reader who cannot see it should know
  std::string caption;
  std::string data;     ///< JSON; its members stand for "$member" in the specification
  std::vector<Paint> legend;
  bool can_hide = false;  ///< the legend's entries are switches
};

/// A figure, with `table` behind it.
void add_chart(Html& html, const Chart& chart, const std::function<void()>& table);

/// A paragraph for what is wrong with the figures around it.
void add_warning(Html& html, std::string_view text);

void open_section(Html& html, std::string_view id, std::string_view title, std::string_view lead);

/// Names, colours and dashes for a specification.
struct Scale {
  std::vector<std::string> names, colors;
  std::vector<std::vector<int>> dashes;
};
Scale scale_of(const std::vector<Paint>& paints);

}  // namespace doxlab::report::html
