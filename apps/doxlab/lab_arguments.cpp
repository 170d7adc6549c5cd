#include "lab_arguments.hpp"

#include <algorithm>
#include <charconv>
#include <format>
#include <ranges>

#include "options.hpp"
#include "files.hpp"

namespace doxlab::app {
namespace {

/// LabOptions on a command line of its own.
struct LabCommandLine {
  LabCommandLine() {
    command.set_help_flag();
    lab.add_to(command);
  }

  CLI::App command{"", "options"};
  LabOptions lab{kDefaultLossPercent};
};

/// The options of a command and of its groups, which CLI11 keeps as nameless subcommands.
std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  auto out = command.get_options();
  for (const auto* group :
       command.get_subcommands([](const CLI::App* sub) { return sub->get_name().empty(); })) {
    const auto more = options_of(*group);
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

std::string long_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? std::string() : option.get_lnames().front();
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? "" : std::string(separator)) + part;
  return out;
}

/// The one spelling of a number; whatever is none stays as it is.
std::string canonical(const std::string& text) {
  const auto* end = text.data() + text.size();
  // Whole numbers may have more digits than a double holds.
  if (std::uint64_t whole = 0; std::from_chars(text.data(), end, whole).ptr == end)
    return text.empty() ? text : std::to_string(whole);
  double value = 0;
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc{} && parsed.ptr == end ? std::format("{}", value) : text;
}

std::string with_checksum(const std::string& path) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : read_file(path)) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  return std::format("{} ({:016x})", path, hash);
}

}  // namespace

LabArguments typed_lab_arguments(const CLI::App& command) {
  const LabCommandLine known;
  LabArguments out;
  for (const auto* option : options_of(known.command)) {
    const auto name = long_name(*option);
    if (const auto* typed = command.get_option("--" + name); typed->count() > 0)
      out[name] = joined(typed->results(), ",");
  }
  return out;
}

LabArguments all_lab_arguments(const LabArguments& typed) {
  const LabCommandLine known;
  LabArguments out;
  for (const auto* option : options_of(known.command)) {
    const auto name = long_name(*option);
    const auto at = typed.find(name);
    out[name] = canonical(at == typed.end() ? option->get_default_str() : at->second);
  }
  if (const auto zone = typed.find("zone"); zone != typed.end()) out["zone"] = with_checksum(zone->second);
  return out;
}

std::string lab_argument_name(std::string_view name) {
  while (name.starts_with('-')) name.remove_prefix(1);
  if (name == "transport") return "only";
  const LabCommandLine known;
  std::vector<std::string> names;
  for (const auto* option : options_of(known.command)) {
    names.push_back(long_name(*option));
    if (names.back() == name) return std::string(name);
  }
  throw UsageError(
      std::format("--grid: '{}' is no option of the lab; they are transport, {}", name, joined(names, ", ")));
}

experiment::Setup lab_setup(const LabArguments& typed) {
  LabCommandLine parser;
  std::vector<std::string> arguments;
  for (const auto& [name, value] : typed | std::views::reverse)
    arguments.push_back(std::format("--{}={}", name, value));
  try {
    parser.command.parse(arguments);  // from the last to the first, as CLI11 takes them
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  return parser.lab.setup();
}

results::Shard parse_shard(const std::string& text) {
  results::Shard out;
  const auto* end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, out.index);
  if (index.ec == std::errc{} && index.ptr != end && *index.ptr == '/') {
    const auto of = std::from_chars(index.ptr + 1, end, out.of);
    if (of.ec == std::errc{} && of.ptr == end && out.index < out.of) return out;
  }
  throw UsageError(
      std::format("--shard: '{}' is not I/K with I from 0 to K-1, such as 0/4, 1/4, 2/4, 3/4", text));
}

void add_shard_option(CLI::App& command, std::string& text) {
  command.add_option("--shard", text,
                     "Part I/K of the run alone, I from 0 to K-1; doxlab merge joins the parts");
}

}  // namespace doxlab::app
