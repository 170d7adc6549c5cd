#pragma once
/// Tables: columns as wide as their widest cell, numbers to the right.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/style.hpp"

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

  /// Lines ending in '\n'; a rule under the titles. If they are wider than style.columns, the columns that do not fit
  /// follow below, with the first one again.
  std::string to_text(const Style& style = {}) const;
  /// As GitHub and CommonMark's extensions take it.
  std::string to_markdown() const;
  /// RFC 4180. A column of "40.7 [40.6, 40.8]" or "40.7 (40.6–40.8)" becomes three: itself, low, high.
  std::string to_csv() const;
  /// Of the widest line, in characters.
  std::size_t width() const;

 private:
  std::vector<std::size_t> widths() const;
  std::string block(const std::vector<std::size_t>& shown, const std::vector<std::size_t>& widths, const Style& style) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace doxlab::report
