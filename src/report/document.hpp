#pragma once
/// What a report says, in order: lines of text and tables. How it looks is decided when it is shown.

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "report/style.hpp"
#include "report/table.hpp"

namespace doxlab::report {

class Document {
 public:
  Document() = default;
  Document(std::string_view text) { append(text); }  // implicit: text with its own line ends
  Document(const std::string& text) { append(text); }
  Document(const char* text) { append(text); }
  explicit Document(Table table) { parts_.emplace_back(std::move(table)); }

  Document& operator+=(const Table& table);
  Document& operator+=(const Document& more);
  friend Document operator+(Document first, const Document& second) { return first += second; }

  bool empty() const { return parts_.empty(); }
  /// Of CSV there are only the tables, an empty line between two of them.
  std::string render(const Style& style) const;
  std::string to_text() const { return render({}); }

 private:
  void append(std::string_view text);

  std::vector<std::variant<std::string, Table>> parts_;
};

}  // namespace doxlab::report
