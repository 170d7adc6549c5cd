#include "lab/subject.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <format>

#include "base/toml.hpp"
#include "lab/subject_texts.hpp"

namespace doxlab::lab {
namespace {

constexpr std::array<std::string_view, 19> kPlaceholders{
    "address",     "host",        "folder",       "chain_file", "key_file",    "root_file",
    "server_name", "doh_path",    "groups",       "doq_retry",  "doh3_retry",  "tickets",
    "early_data",  "zone_file",   "zone_name",    "backend",    "backend_ip", "backend_port", "backend_doh"};
/// Options whose values can reach a server through a placeholder.
constexpr std::array<std::string_view, 5> kFollowable{"retry", "server-group", "tickets", "early-data", "zone"};

bool is_name_character(char c) { return std::islower(static_cast<unsigned char>(c)) || c == '_' || (c >= '0' && c <= '9'); }

/// Calls `literal` and `placeholder` for the parts of a text in their order.
template <class Literal, class Placeholder>
void for_each_part(std::string_view text, Literal literal, Placeholder placeholder) {
  while (!text.empty()) {
    const auto begin = text.find("{{");
    literal(text.substr(0, begin));
    if (begin == std::string_view::npos) return;
    text.remove_prefix(begin);
    std::size_t end = 2;
    while (end < text.size() && is_name_character(text[end])) ++end;
    if (end > 2 && text.substr(end).starts_with("}}")) {
      placeholder(text.substr(2, end - 2));
      text.remove_prefix(end + 2);
    } else {
      literal(text.substr(0, 1));
      text.remove_prefix(1);
    }
  }
}

class SubjectReader {
 public:
  explicit SubjectReader(std::string_view source) : source_(source) {}

  Result<Subject> read(const toml::table& table) {
    for (const auto& [key, node] : table) {
      const auto name = key.str();
      if (name == "name") out_.name = text(node, name);
      else if (name == "summary") out_.summary = text(node, name);
      else if (name == "package") out_.package = text(node, name);
      else if (name == "command") out_.command = texts(node, name);
      else if (name == "version") out_.version_command = texts(node, name);
      else if (name == "doh_path") out_.doh_path = text(node, name);
      else if (name == "options") read_options(node);
      else if (name == "ports") read_ports(node);
      else if (name == "file") read_files(node);
      else refuse(node, std::format("'{}' is no key of a subject file", name));
    }
    if (error_.empty()) check();
    if (!error_.empty()) return fail(error_);
    return std::move(out_);
  }

 private:
  void refuse(const toml::node& node, std::string_view what) {
    if (error_.empty()) error_ = std::format("{}, line {}: {}", source_, node.source().begin.line, what);
  }
  void refuse(std::string_view what) {
    if (error_.empty()) error_ = std::format("{}: {}", source_, what);
  }

  std::string text(const toml::node& node, std::string_view name) {
    if (const auto* value = node.as_string()) return value->get();
    refuse(node, std::format("'{}' must be a text", name));
    return {};
  }

  std::vector<std::string> texts(const toml::node& node, std::string_view name) {
    std::vector<std::string> out;
    const auto* list = node.as_array();
    if (list == nullptr) {
      refuse(node, std::format("'{}' must be a list of texts", name));
      return out;
    }
    for (const auto& item : *list) out.push_back(text(item, name));
    return out;
  }

  void read_options(const toml::node& node) {
    for (auto& option : texts(node, "options")) {
      if (!std::ranges::contains(kFollowable, std::string_view(option)))
        refuse(node, std::format("'{}' is no option that a server can follow; they are retry, server-group, tickets, "
                                 "early-data, zone", option));
      out_.options.insert(std::move(option));
    }
  }

  void read_ports(const toml::node& node) {
    const auto* table = node.as_table();
    if (table == nullptr) return refuse(node, "'ports' must be a table of transports");
    for (const auto& [key, value] : *table) {
      const auto transport = parse_transport(key.str());
      const auto number = value.value_exact<std::int64_t>();
      if (!transport || is_dnscrypt(*transport))
        refuse(value, std::format("'{}' is no transport that a subject can offer", key.str()));
      else if (!number || *number < 1 || *number > 65535)
        refuse(value, std::format("the port of {} must be a number from 1 to 65535", key.str()));
      else out_.ports[*transport] = static_cast<std::uint16_t>(*number);
    }
  }

  void read_files(const toml::node& node) {
    const auto* list = node.as_array();
    if (list == nullptr) return refuse(node, "files are written as [[file]]");
    for (const auto& item : *list) {
      const auto* table = item.as_table();
      if (table == nullptr) return refuse(item, "files are written as [[file]]");
      SubjectFile file;
      for (const auto& [key, value] : *table) {
        if (key.str() == "name") file.name = text(value, "name");
        else if (key.str() == "text") file.text = text(value, "text");
        else refuse(value, std::format("'{}' is no key of a file", key.str()));
      }
      if (file.name.empty() || file.name.contains('/') || file.name.starts_with('.'))
        refuse(item, std::format("'{}' is no name for a file in the work folder", file.name));
      out_.files.push_back(std::move(file));
    }
  }

  void check() {
    if (out_.name.empty()) refuse("'name' is missing");
    // It names files of results.
    const auto is_allowed = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.'; };
    if (out_.name.starts_with('.') || !std::ranges::all_of(out_.name, is_allowed))
      refuse("'name' may have letters, digits, '-' and '.' only, and no '.' in front");
    if (out_.command.empty()) refuse("'command' is missing");
    if (out_.ports.empty()) refuse("'ports' offers no transport");
    for (const auto& word : out_.command) check_placeholders(word);
    for (const auto& file : out_.files) check_placeholders(file.text);
  }

  void check_placeholders(std::string_view text) {
    for_each_part(text, [](auto) {}, [this](std::string_view name) {
      if (!std::ranges::contains(kPlaceholders, name))
        refuse(std::format("there is no value named {{{{{}}}}}", name));
    });
  }

  std::string_view source_;
  Subject out_;
  std::string error_;
};

}  // namespace

Result<Subject> parse_subject(std::string_view toml, std::string_view source) {
  if (toml.size() > kLargestSubjectFile)
    return fail(std::format("{}: {} bytes, more than {}", source, toml.size(), kLargestSubjectFile));
  const auto parsed = toml::parse(toml);
  if (!parsed) {
    const auto& error = parsed.error();
    return fail(std::format("{}, line {}: {}", source, error.source().begin.line, error.description()));
  }
  return SubjectReader(source).read(parsed.table());
}

std::vector<std::string> built_in_subjects() {
  std::vector<std::string> out;
  for (const auto& [name, text] : kSubjectTexts) out.emplace_back(name);
  std::ranges::sort(out);
  return out;
}

Result<Subject> built_in_subject(std::string_view name) {
  for (const auto& [known, text] : kSubjectTexts)
    if (known == name) return parse_subject(text, std::format("{}.toml", known));
  return fail(std::format("no subject named '{}'", name));
}

Result<std::string> fill_in(std::string_view text, const SubjectValues& values) {
  std::string out, missing;
  for_each_part(
      text,
      [&](std::string_view literal) {
        if (out.size() + literal.size() <= kLargestSubjectText) out += literal;
        else missing = "the text becomes too long";
      },
      [&](std::string_view name) {
        const auto value = values.find(name);
        if (value == values.end()) missing = std::format("no value for {{{{{}}}}}", name);
        else if (out.size() + value->second.size() <= kLargestSubjectText) out += value->second;
        else missing = "the text becomes too long";
      });
  if (!missing.empty()) return fail(missing);
  return out;
}

std::string offered_transports(const Subject& subject) {
  std::string out;
  for (const auto& [transport, port] : subject.ports)
    out += (out.empty() ? "" : ", ") + std::string(to_string(transport));
  return out;
}

}  // namespace doxlab::lab
