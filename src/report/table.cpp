#include "report/table.hpp"

#include <algorithm>
#include <cstdint>

namespace doxlab::report {
namespace {

/// Width on a terminal: code points, as no cell holds wide or combining characters.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string Table::to_text() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    auto widest = width(columns_[i].title);
    for (const auto& row : rows_) widest = std::max(widest, width(row[i]));
    widths.push_back(widest);
  }
  std::string out;
  const auto line = [&](auto cell) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string content = cell(i);
      const std::string fill(widths[i] - width(content), ' ');
      if (i > 0) text += "  ";
      text += columns_[i].align == Align::Left ? content + fill : fill + content;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  line([&](std::size_t i) { return columns_[i].title; });
  line([&](std::size_t i) {
    std::string rule;
    for (std::size_t k = 0; k < widths[i]; ++k) rule += "─";
    return rule;
  });
  for (const auto& row : rows_) line([&](std::size_t i) { return row[i]; });
  return out;
}

}  // namespace doxlab::report
