#include "lab/foreign_client.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <format>

#include "lab/client_texts.hpp"
#include "lab/description.hpp"
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
  explicit ClientReader(std::string_view source) : in_(source) {}

  Result<ForeignClient> read(const toml::table& table) {
    for (const auto& [key, node] : table) {
      const auto name = key.str();
      if (name == "name") out_.name = in_.text(node, name);
      else if (name == "summary") out_.summary = in_.text(node, name);
      else if (name == "package") out_.package = in_.text(node, name);
      else if (name == "version") out_.version_command = in_.texts(node, name);
      else if (name == "zones") out_.zones = in_.text(node, name);
      else if (name == "options") out_.options = in_.options(node, kClientOptions, "a client");
      else if (name == "commands") read_commands(node);
      else if (name == "environment") read_environment(node);
      else if (name == "forwarder") read_forwarder(node);
      else if (name == "file") read_files(node);
      else in_.refuse(node, std::format("'{}' is no key of a client file", name));
    }
    if (in_.error().empty()) check();
    if (!in_.error().empty()) return fail(in_.error());
    return std::move(out_);
  }

 private:
  void read_commands(const toml::node& node) {
    const auto* table = in_.table(node, "commands");
    if (table == nullptr) return;
    for (const auto& [key, value] : *table) {
      const auto transport = parse_transport(key.str());
      if (!transport) {
        in_.refuse(value, std::format("'{}' is no transport; they are {}", key.str(), transport_names()));
        continue;
      }
      auto words = in_.texts(value, key.str());
      if (words.empty() || words.front().empty()) in_.refuse(value, std::format("the command of {} has no program", key.str()));
      for (const auto& word : words) check_placeholders(value, word);
      out_.commands[*transport] = std::move(words);
    }
  }

  void read_environment(const toml::node& node) {
    const auto* table = in_.table(node, "environment");
    if (table == nullptr) return;
    for (const auto& [key, value] : *table) {
      if (key.empty() || key.str().contains('=')) in_.refuse(value, std::format("'{}' is no name of a variable", key.str()));
      out_.environment.emplace_back(key.str(), in_.text(value, key.str()));
      check_placeholders(value, out_.environment.back().second);
    }
  }

  void read_forwarder(const toml::node& node) {
    const auto* table = in_.table(node, "forwarder");
    if (table == nullptr) return;
    for (const auto& [key, value] : *table) {
      if (key.str() == "ready") {
        out_.ready = in_.text(value, "ready");
      } else if (key.str() == "port") {
        const auto number = value.value_exact<std::int64_t>();
        if (!number || *number < 1 || *number > 65535) in_.refuse(value, "the port of a forwarder must be a number from 1 to 65535");
        else out_.listen_port = static_cast<std::uint16_t>(*number);
      } else {
        in_.refuse(value, std::format("'{}' is no key of a forwarder", key.str()));
      }
    }
    if (!out_.listen_port) in_.refuse(node, "a forwarder needs a 'port'");
  }

  void read_files(const toml::node& node) {
    out_.files = in_.files(node);
    for (const auto& file : out_.files) check_placeholders(node, file.text);
  }

  void check() {
    in_.check_name(out_.name);
    if (out_.commands.empty()) in_.refuse("'commands' has no transport");
  }

  void check_placeholders(const toml::node& node, std::string_view text) {
    if (const auto missing = missing_value(text); !missing.empty()) in_.refuse(node, missing);
  }

  DescriptionReader in_;
  ForeignClient out_;
};

}  // namespace

Result<ForeignClient> parse_foreign_client(std::string_view toml, std::string_view source) {
  const auto table = parse_description(toml, source);
  return table ? ClientReader(source).read(*table) : fail(table.error().message);
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
