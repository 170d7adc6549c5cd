#pragma once
/// Text tables for the terminal: columns as wide as their widest cell, numbers to the right.

#include <cstdint>
#include <string>
#include <vector>

namespace doxlab::report {

class Table {
 public:
  enum class Align : std::uint8_t { Left, Right };
  struct Column {
    std::string title;
    Align align = Align::Right;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// As many cells as columns.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Lines ending in '\n'; a rule under the titles.
  std::string to_text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace doxlab::report
