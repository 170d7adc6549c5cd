#include "report/html/html.hpp"

#include <cstdint>
#include <stdexcept>

namespace doxlab::report::html {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Octets of the UTF-8 character that begins here (RFC 3629), 0 if none does.
std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0; };
  const auto continues = [&](std::size_t i) { return (at(i) & 0xC0) == 0x80; };
  const auto first = at(0), second = at(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0, surrogate = first == 0xED && second > 0x9F;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && second < 0x90, beyond = first == 0xF4 && second > 0x8F;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

bool is_shown(char c) {
  return (c >= 0x20 && c != 0x7F) || c == '\t' || c == '\n';
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const auto length = utf8_length(text);
    if (length == 0 || (length == 1 && !is_shown(text.front()))) {
      out += kReplacement;
      text.remove_prefix(1);
      continue;
    }
    switch (text.front()) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string escape_json(std::string json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    switch (c) {
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default: out += c;
    }
  }
  return out;
}

void Html::tag(std::string_view name, Attributes attributes) {
  out_.append("<").append(name);
  for (const auto& [key, value] : attributes) out_.append(" ").append(key).append("=\"").append(escape(value)).append("\"");
  out_ += '>';
}

Html& Html::open(std::string_view name, Attributes attributes) {
  tag(name, attributes);
  open_.emplace_back(name);
  return *this;
}

Html& Html::close() {
  if (open_.empty()) throw std::logic_error("no element is open");
  out_.append("</").append(open_.back()).append(">");
  // A line end where it changes nothing that is seen keeps the file readable.
  const auto& name = open_.back();
  if (name == "p" || name == "tr" || name == "section" || name == "li" || name == "script" || name == "table") out_ += '\n';
  open_.pop_back();
  return *this;
}

Html& Html::text(std::string_view text) {
  out_ += escape(text);
  return *this;
}

Html& Html::element(std::string_view name, std::string_view content, Attributes attributes) {
  return open(name, attributes).text(content).close();
}

Html& Html::void_element(std::string_view name, Attributes attributes) {
  tag(name, attributes);
  return *this;
}

Html& Html::json(const std::string& json, Attributes attributes) {
  out_ += "<script type=\"application/json\"";
  for (const auto& [key, value] : attributes) out_.append(" ").append(key).append("=\"").append(escape(value)).append("\"");
  out_.append(">").append(escape_json(json)).append("</script>\n");
  return *this;
}

Html& Html::trusted(std::string_view text) {
  out_ += text;
  return *this;
}

std::string Html::finish() && {
  if (!open_.empty()) throw std::logic_error("an element is still open: " + open_.back());
  return std::move(out_);
}

}  // namespace doxlab::report::html
