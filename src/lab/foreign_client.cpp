#include "lab/foreign_client.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <format>

#include "base/toml.hpp"
#include "lab/client_texts.hpp"
#include "lab/subject_process.hpp"

namespace doxlab::lab {
namespace {

constexpr std::array<std::string_view, 17> kClientPlaceholders{
    "server", "host",  "port",            "name",     "roots", "qname", "qtype",  "query",   "query_base64url",
    "spki",   "stamp", "doh_path",        "folder",   "key_log", "listen_port", "groups", "method"};
/// Options of doxlab's client whose values can reach another through a placeholder.
constexpr std::array<std::string_view, 2> kClientOptions{"group", "method"};
constexpr std::size_t kLongestCommand = 4096;

/// Empty: every placeholder of the text has a value.
std::string missing_value(std::string_view text) {
  static const SubjectValues known = [] {
    SubjectValues out;
    for (const auto name : kClientPlaceholders) out.emplace(name, "");
    return out;
  }();
  const auto filled = fill_in(text, known);
  return filled ? std::string() : filled.error().message;
}

class ClientReader {
 public:
  explicit ClientReader(std::string_view source) : source_(source) {}

  Result<ForeignClient> read(const toml::table& table) {
    for (const auto& [key, node] : table) {
      const auto name = key.str();
      if (name == "name") out_.name = text(node, name);
      else if (name == "summary") out_.summary = text(node, name);
      else if (name == "package") out_.package = text(node, name);
      else if (name == "version") out_.version_command = texts(node, name);
      else if (name == "zones") out_.zones = text(node, name);
      else if (name == "options") read_options(node);
      else if (name == "commands") read_commands(node);
      else if (name == "environment") read_environment(node);
      else if (name == "forwarder") read_forwarder(node);
      else if (name == "file") read_files(node);
      else refuse(node, std::format("'{}' is no key of a client file", name));
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
    const auto* value = node.as_string();
    if (value == nullptr) {
      refuse(node, std::format("'{}' must be a text", name));
      return {};
    }
    // The end of the text for the system, but not for whoever reads the file.
    if (value->get().contains('\0')) refuse(node, std::format("'{}' has a zero in it", name));
    return value->get();
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

  const toml::table* table_of(const toml::node& node, std::string_view name) {
    const auto* table = node.as_table();
    if (table == nullptr) refuse(node, std::format("'{}' must be a table", name));
    return table;
  }

  void read_options(const toml::node& node) {
    for (auto& option : texts(node, "options")) {
      if (!std::ranges::contains(kClientOptions, std::string_view(option)))
        refuse(node, std::format("'{}' is no option that a client can follow; they are group and method", option));
      out_.options.insert(std::move(option));
    }
  }

  void read_commands(const toml::node& node) {
    const auto* table = table_of(node, "commands");
    if (table == nullptr) return;
    for (const auto& [key, value] : *table) {
      const auto transport = parse_transport(key.str());
      if (!transport) {
        refuse(value, std::format("'{}' is no transport; they are {}", key.str(), transport_names()));
        continue;
      }
      auto words = texts(value, key.str());
      if (words.empty() || words.front().empty()) refuse(value, std::format("the command of {} has no program", key.str()));
      for (const auto& word : words) check_placeholders(value, word);
      out_.commands[*transport] = std::move(words);
    }
  }

  void read_environment(const toml::node& node) {
    const auto* table = table_of(node, "environment");
    if (table == nullptr) return;
    for (const auto& [key, value] : *table) {
      if (key.empty() || key.str().contains('=')) refuse(value, std::format("'{}' is no name of a variable", key.str()));
      out_.environment.emplace_back(key.str(), text(value, key.str()));
      check_placeholders(value, out_.environment.back().second);
    }
  }

  void read_forwarder(const toml::node& node) {
    const auto* table = table_of(node, "forwarder");
    if (table == nullptr) return;
    for (const auto& [key, value] : *table) {
      if (key.str() == "ready") {
        out_.ready = text(value, "ready");
      } else if (key.str() == "port") {
        const auto number = value.value_exact<std::int64_t>();
        if (!number || *number < 1 || *number > 65535) refuse(value, "the port of a forwarder must be a number from 1 to 65535");
        else out_.listen_port = static_cast<std::uint16_t>(*number);
      } else {
        refuse(value, std::format("'{}' is no key of a forwarder", key.str()));
      }
    }
    if (!out_.listen_port) refuse(node, "a forwarder needs a 'port'");
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
        refuse(item, std::format("'{}' is no name for a file in the folder", file.name));
      check_placeholders(item, file.text);
      out_.files.push_back(std::move(file));
    }
  }

  void check() {
    if (out_.name.empty()) refuse("'name' is missing");
    if (!std::ranges::all_of(out_.name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-'; }))
      refuse("'name' may have letters, digits and '-' only");
    if (out_.commands.empty()) refuse("'commands' has no transport");
  }

  void check_placeholders(const toml::node& node, std::string_view text) {
    if (const auto missing = missing_value(text); !missing.empty()) refuse(node, missing);
  }

  std::string_view source_;
  ForeignClient out_;
  std::string error_;
};

}  // namespace

Result<ForeignClient> parse_foreign_client(std::string_view toml, std::string_view source) {
  if (toml.size() > kLargestSubjectFile)
    return fail(std::format("{}: {} bytes, more than {}", source, toml.size(), kLargestSubjectFile));
  const auto parsed = toml::parse(toml);
  if (!parsed) {
    const auto& error = parsed.error();
    return fail(std::format("{}, line {}: {}", source, error.source().begin.line, error.description()));
  }
  return ClientReader(source).read(parsed.table());
}

Result<ForeignClient> foreign_client_of_command(std::string_view command_line) {
  const auto begin = command_line.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return fail("the command is empty");
  if (command_line.size() > kLongestCommand) return fail(std::format("the command has more than {} characters", kLongestCommand));
  if (const auto missing = missing_value(command_line); !missing.empty()) return fail("the command: " + missing);
  auto program = command_line.substr(begin);
  program = program.substr(0, program.find_first_of(" \t\n"));
  if (const auto slash = program.rfind('/'); slash != std::string_view::npos) program.remove_prefix(slash + 1);
  ForeignClient out;
  out.command_line = command_line;
  for (const char c : program)
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_') out.name += c;
  if (out.name.empty()) out.name = "command";
  return out;
}

std::vector<std::string> built_in_foreign_clients() {
  std::vector<std::string> out;
  for (const auto& [name, text] : kClientTexts) out.emplace_back(name);
  std::ranges::sort(out);
  return out;
}

Result<ForeignClient> built_in_foreign_client(std::string_view name) {
  for (const auto& [known, text] : kClientTexts)
    if (known == name) return parse_foreign_client(text, std::format("{}.toml", known));
  return fail(std::format("no client named '{}'", name));
}

std::string ask_version(const ForeignClient& client) {
  return ask_version({client.name, client.package}, client.version_command);
}

std::string spoken_transports(const ForeignClient& client) {
  std::string out;
  for (const auto& [transport, command] : client.commands)
    out += (out.empty() ? "" : ", ") + std::string(to_string(transport));
  return out;
}

}  // namespace doxlab::lab
