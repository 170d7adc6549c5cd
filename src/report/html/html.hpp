#pragma once
/// Writes HTML of which nothing but its structure is trusted: every text and every attribute's value is escaped, so that
/// results from elsewhere can add no element, attribute or script.

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doxlab::report::html {

/// As it may stand between tags and in quoted attributes. Octets that are no UTF-8 and control characters other than tab and
/// newline become U+FFFD.
std::string escape(std::string_view text);

/// JSON as it may stand in a script element: without <, > and &, which JSON can only have in strings.
std::string escape_json(std::string json);

using Attributes = std::initializer_list<std::pair<std::string_view, std::string_view>>;

class Html {
 public:
  /// Names of elements and attributes come from our code and are written as they are.
  Html& open(std::string_view name, Attributes attributes = {});
  Html& close();
  Html& text(std::string_view text);
  /// open, text, close.
  Html& element(std::string_view name, std::string_view text, Attributes attributes = {});
  /// An element that has no content and no end: meta, br, ...
  Html& void_element(std::string_view name, Attributes attributes);
  /// JSON for our scripts.
  Html& json(const std::string& json, Attributes attributes = {});
  /// A text of ours, as it is: for the content of script and style.
  Html& trusted(std::string_view text);

  /// Errors: std::logic_error if an element is open.
  std::string finish() &&;

 private:
  void tag(std::string_view name, Attributes attributes);

  std::string out_;
  std::vector<std::string> open_;
};

}  // namespace doxlab::report::html
