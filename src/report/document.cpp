#include "report/document.hpp"

#include <ranges>

namespace doxlab::report {
namespace {

constexpr std::string_view kYellow = "\033[33m", kPlain = "\033[0m";
constexpr std::string_view kWords[] = {"WARNING", "NOTE", "INTERRUPTED", "INCOMPLETE", "NOT COMPARABLE", "FAILED"};

/// Lines that a reader must not miss stand out.
std::string coloured(std::string_view text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto line = text.substr(begin, end - begin);
    const bool stands_out = std::ranges::any_of(kWords, [&](std::string_view word) { return line.starts_with(word); });
    if (stands_out) out.append(kYellow).append(line).append(kPlain);
    else out += line;
    if (end < text.size()) out += '\n';
    begin = end + 1;
  }
  return out;
}

/// Line ends that Markdown would swallow are kept, by two blanks before them.
std::string markdown(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool ends_line = c == '\n' && i > 0 && text[i - 1] != '\n' && i + 1 < text.size() && text[i + 1] != '\n';
    if (ends_line) out += "  ";
    if (c == '<' || c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

void Document::append(std::string_view text) {
  if (text.empty()) return;
  auto* last = parts_.empty() ? nullptr : std::get_if<std::string>(&parts_.back());
  if (last != nullptr) last->append(text);
  else parts_.emplace_back(std::string(text));
}

Document& Document::operator+=(const Table& table) {
  parts_.emplace_back(table);
  return *this;
}

Document& Document::operator+=(const Document& more) {
  for (const auto& part : more.parts_)
    if (const auto* text = std::get_if<std::string>(&part)) append(*text);
    else parts_.push_back(part);
  return *this;
}

std::string Document::render(const Style& style) const {
  std::string out;
  for (const auto& part : parts_) {
    const auto* text = std::get_if<std::string>(&part);
    const auto* table = std::get_if<Table>(&part);
    switch (style.format) {
      case Format::Text:
        out += table != nullptr ? table->to_text(style) : style.has_colour ? coloured(*text) : *text;
        break;
      case Format::Markdown:
        if (table != nullptr && !out.empty() && !out.ends_with("\n\n")) out += '\n';
        out += table != nullptr ? table->to_markdown() + '\n' : markdown(*text);
        break;
      case Format::Csv:
        if (table != nullptr) out += (out.empty() ? "" : "\n") + table->to_csv();
        break;
    }
  }
  return out;
}

}  // namespace doxlab::report
