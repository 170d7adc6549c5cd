#include "lab/description.hpp"

#include <algorithm>
#include <cctype>
#include <format>

namespace doxlab::lab {

Result<toml::table> parse_description(std::string_view toml, std::string_view source) {
  if (toml.size() > kLargestSubjectFile)
    return fail(std::format("{}: {} bytes, more than {}", source, toml.size(), kLargestSubjectFile));
  auto parsed = toml::parse(toml);
  if (!parsed) {
    const auto& error = parsed.error();
    return fail(std::format("{}, line {}: {}", source, error.source().begin.line, error.description()));
  }
  return std::move(parsed).table();
}

void DescriptionReader::refuse(const toml::node& node, std::string_view what) {
  if (error_.empty()) error_ = std::format("{}, line {}: {}", source_, node.source().begin.line, what);
}

void DescriptionReader::refuse(std::string_view what) {
  if (error_.empty()) error_ = std::format("{}: {}", source_, what);
}

std::string DescriptionReader::text(const toml::node& node, std::string_view name) {
  const auto* value = node.as_string();
  if (value == nullptr) {
    refuse(node, std::format("'{}' must be a text", name));
    return {};
  }
  // The end of the text for the system, but not for whoever reads the file.
  if (value->get().contains('\0')) refuse(node, std::format("'{}' has a zero in it", name));
  return value->get();
}

std::vector<std::string> DescriptionReader::texts(const toml::node& node, std::string_view name) {
  std::vector<std::string> out;
  const auto* list = node.as_array();
  if (list == nullptr) {
    refuse(node, std::format("'{}' must be a list of texts", name));
    return out;
  }
  for (const auto& item : *list) out.push_back(text(item, name));
  return out;
}

const toml::table* DescriptionReader::table(const toml::node& node, std::string_view name) {
  const auto* out = node.as_table();
  if (out == nullptr) refuse(node, std::format("'{}' must be a table", name));
  return out;
}

std::vector<SubjectFile> DescriptionReader::files(const toml::node& node) {
  std::vector<SubjectFile> out;
  const auto* list = node.as_array();
  if (list == nullptr) refuse(node, "files are written as [[file]]");
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const auto& item = (*list)[i];
    const auto* values = item.as_table();
    if (values == nullptr) {
      refuse(item, "files are written as [[file]]");
      break;
    }
    SubjectFile file;
    for (const auto& [key, value] : *values) {
      if (key.str() == "name") file.name = text(value, "name");
      else if (key.str() == "text") file.text = text(value, "text");
      else refuse(value, std::format("'{}' is no key of a file", key.str()));
    }
    if (file.name.empty() || file.name.contains('/') || file.name.starts_with('.'))
      refuse(item, std::format("'{}' is no name for a file in the work folder", file.name));
    out.push_back(std::move(file));
  }
  return out;
}

std::set<std::string, std::less<>> DescriptionReader::options(const toml::node& node, std::span<const std::string_view> known,
                                                              std::string_view who) {
  std::set<std::string, std::less<>> out;
  for (auto& option : texts(node, "options")) {
    if (!std::ranges::contains(known, std::string_view(option))) {
      std::string names;
      for (const auto name : known) names += (names.empty() ? "" : ", ") + std::string(name);
      refuse(node, std::format("'{}' is no option that {} can follow; they are {}", option, who, names));
    }
    out.insert(std::move(option));
  }
  return out;
}

void DescriptionReader::check_name(std::string_view name) {
  if (name.empty()) refuse("'name' is missing");
  const auto is_allowed = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.'; };
  if (name.starts_with('.') || !std::ranges::all_of(name, is_allowed))
    refuse("'name' may have letters, digits, '-' and '.' only, and no '.' in front");
}

}  // namespace doxlab::lab
