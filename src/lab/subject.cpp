#include "lab/subject.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <format>

#include "lab/description.hpp"
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
  explicit SubjectReader(std::string_view source) : in_(source) {}

  Result<Subject> read(const toml::table& table) {
    for (const auto& [key, node] : table) {
      const auto name = key.str();
      if (name == "name") out_.name = in_.text(node, name);
      else if (name == "summary") out_.summary = in_.text(node, name);
      else if (name == "package") out_.package = in_.text(node, name);
      else if (name == "command") out_.command = in_.texts(node, name);
      else if (name == "version") out_.version_command = in_.texts(node, name);
      else if (name == "doh_path") out_.doh_path = in_.text(node, name);
      else if (name == "options") out_.options = in_.options(node, kFollowable, "a server");
      else if (name == "ports") read_ports(node);
      else if (name == "file") out_.files = in_.files(node);
      else in_.refuse(node, std::format("'{}' is no key of a subject file", name));
    }
    if (in_.error().empty()) check();
    if (!in_.error().empty()) return fail(in_.error());
    return std::move(out_);
  }

 private:
  void read_ports(const toml::node& node) {
    const auto* table = node.as_table();
    if (table == nullptr) return in_.refuse(node, "'ports' must be a table of transports");
    for (const auto& [key, value] : *table) {
      const auto transport = parse_transport(key.str());
      const auto number = value.value_exact<std::int64_t>();
      if (!transport || is_dnscrypt(*transport))
        in_.refuse(value, std::format("'{}' is no transport that a subject can offer", key.str()));
      else if (!number || *number < 1 || *number > 65535)
        in_.refuse(value, std::format("the port of {} must be a number from 1 to 65535", key.str()));
      else out_.ports[*transport] = static_cast<std::uint16_t>(*number);
    }
  }

  void check() {
    in_.check_name(out_.name);
    if (out_.command.empty()) in_.refuse("'command' is missing");
    if (out_.ports.empty()) in_.refuse("'ports' offers no transport");
    for (const auto& word : out_.command) check_placeholders(word);
    for (const auto& file : out_.files) check_placeholders(file.text);
  }

  void check_placeholders(std::string_view text) {
    for_each_part(text, [](auto) {}, [this](std::string_view name) {
      if (!std::ranges::contains(kPlaceholders, name))
        in_.refuse(std::format("there is no value named {{{{{}}}}}", name));
    });
  }

  DescriptionReader in_;
  Subject out_;
};

}  // namespace

Result<Subject> parse_subject(std::string_view toml, std::string_view source) {
  const auto table = parse_description(toml, source);
  return table ? SubjectReader(source).read(*table) : fail(table.error().message);
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
