#include "report/table.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "report/csv.hpp"

namespace doxlab::report {
namespace {

constexpr std::size_t kGap = 2;  // blanks between columns

/// Width on a terminal: code points, as no cell holds wide or combining characters.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

/// "40.7 [40.6, 40.8]" and "40.7 (40.6–40.8)" cut in three.
std::optional<std::array<std::string_view, 3>> cut(std::string_view cell) {
  struct Brackets {
    std::string_view open, between, close;
  };
  for (const auto& [open, between, close] : {Brackets{" [", ", ", "]"}, Brackets{" (", "–", ")"}}) {
    if (!cell.ends_with(close)) continue;
    const auto at = cell.find(open);
    const auto middle = cell.find(between, at == cell.npos ? 0 : at);
    if (at == cell.npos || middle == cell.npos) continue;
    const auto low = at + open.size(), high = middle + between.size();
    return {{cell.substr(0, at), cell.substr(low, middle - low), cell.substr(high, cell.size() - close.size() - high)}};
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    auto widest = width_of(columns_[i].title);
    for (const auto& row : rows_) widest = std::max(widest, width_of(row[i]));
    out.push_back(widest);
  }
  return out;
}

std::size_t Table::width() const {
  std::size_t out = 0;
  for (const auto one : widths()) out += one + kGap;
  return out > 0 ? out - kGap : 0;
}

std::string Table::block(const std::vector<std::size_t>& shown, const std::vector<std::size_t>& widths, const Style& style) const {
  std::string out;
  const auto line = [&](auto cell) {
    std::string text;
    for (const auto i : shown) {
      const std::string content = cell(i);
      const std::string fill(widths[i] - width_of(content), ' ');
      if (i != shown.front()) text.append(kGap, ' ');
      text += columns_[i].align == Align::Left ? content + fill : fill + content;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + '\n';
  };
  const auto titles = line([&](std::size_t i) { return columns_[i].title; });
  const auto rule = line([&](std::size_t i) {
    std::string dashes;
    for (std::size_t k = 0; k < widths[i]; ++k) dashes += "─";
    return dashes;
  });
  out += style.has_colour ? "\033[1m" + titles + "\033[0m\033[2m" + rule + "\033[0m" : titles + rule;
  for (const auto& row : rows_) out += line([&](std::size_t i) { return row[i]; });
  return out;
}

std::string Table::to_text(const Style& style) const {
  const auto all = widths();
  std::string out;
  std::vector<std::size_t> shown;
  std::size_t used = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (style.columns > 0 && shown.size() > 1 && used + kGap + all[i] > style.columns) {
      out += block(shown, all, style) + '\n';
      shown = {0};
      used = all[0];
    }
    used += all[i] + (shown.empty() ? 0 : kGap);
    shown.push_back(i);
  }
  return out + block(shown, all, style);
}

std::string Table::to_markdown() const {
  const auto line = [&](auto cell) {
    std::string out = "|";
    for (std::size_t i = 0; i < columns_.size(); ++i) out += ' ' + cell(i) + " |";
    return out + '\n';
  };
  auto out = line([&](std::size_t i) { return markdown_cell(columns_[i].title); });
  out += line([&](std::size_t i) { return std::string(columns_[i].align == Align::Left ? ":---" : "---:"); });
  for (const auto& row : rows_) out += line([&](std::size_t i) { return markdown_cell(row[i]); });
  return out;
}

std::string Table::to_csv() const {
  std::vector<bool> in_three;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    in_three.push_back(std::ranges::any_of(rows_, [&](const auto& row) { return cut(row[i]).has_value(); }));
  const auto line = [&](auto cells_of) {
    std::string out;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::array<std::string, 3> cells = cells_of(i);
      out += (i > 0 ? "," : "") + csv_field(cells[0]);
      if (in_three[i]) out += ',' + csv_field(cells[1]) + ',' + csv_field(cells[2]);
    }
    return out + '\n';
  };
  auto out = line([&](std::size_t i) {
    const auto& title = columns_[i].title;
    return std::array{title, title + " low", title + " high"};
  });
  for (const auto& row : rows_)
    out += line([&](std::size_t i) {
      const auto three = in_three[i] ? cut(row[i]) : std::nullopt;
      if (!three) return std::array<std::string, 3>{row[i], "", ""};
      return std::array<std::string, 3>{std::string((*three)[0]), std::string((*three)[1]), std::string((*three)[2])};
    });
  return out;
}

}  // namespace doxlab::report
