#include "manual.hpp"

#include <format>
#include <functional>
#include <sstream>
#include <vector>

namespace doxlab::app {
namespace {

using Commands = std::vector<const CLI::App*>;

bool is_any(const CLI::App*) { return true; }

/// Subcommands of the program; CLI11 keeps groups of options in the same list, without a name.
Commands commands_of(const CLI::App& parser) {
  Commands out;
  for (const auto* one : parser.get_subcommands(is_any))
    if (!one->get_name().empty()) out.push_back(one);
  return out;
}

void for_each_option(const CLI::App& command, const std::function<void(const CLI::Option&)>& see) {
  for (const auto* option : command.get_options())
    if (!option->get_group().empty()) see(*option);  // without a group: hidden
  for (const auto* group : command.get_subcommands(is_any))
    if (group->get_name().empty()) for_each_option(*group, see);
}

/// Text in man(7): blanks and dashes stay what they are, and no line is taken for a request.
std::string roff(std::string_view text) {
  std::string out;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
    begins_line = c == '\n';
  }
  return out;
}

/// "--timeout SECONDS" and the like.
std::string names_of(const CLI::Option& option) {
  std::string out;
  if (option.get_positional()) return option.get_name(true);
  for (const auto& name : option.get_snames()) out += (out.empty() ? "-" : ", -") + name;
  for (const auto& name : option.get_lnames()) out += (out.empty() ? "--" : ", --") + name;
  return out;
}

/// CLI11 writes "UINT:INT in [1 - 9]" and "TEXT:{post,get}": the check says it all.
std::string type_of(const CLI::Option& option) {
  const auto type = option.get_type_name();
  const auto colon = type.find(':');
  return colon == std::string::npos ? type : type.substr(colon + 1);
}

std::string option_entry(const CLI::Option& option) {
  auto out = std::format(".TP\n\\fB{}\\fR", roff(names_of(option)));
  if (option.get_type_size() != 0 && !option.get_positional()) out += std::format(" \\fI{}\\fR", roff(type_of(option)));
  out += '\n' + roff(option.get_description());
  if (const auto& value = option.get_default_str(); !value.empty()) out += std::format(" (default {})", roff(value));
  return out + '\n';
}

/// Paragraphs as they are, with their line ends.
std::string literal(const std::string& text) { return ".nf\n" + roff(text) + "\n.fi\n"; }

std::string option_entries(const CLI::App& command) {
  std::string out;
  for_each_option(command, [&](const CLI::Option& option) { out += option_entry(option); });
  return out;
}

/// The values that an option takes, if it is one of a few: CLI11 has them as "TEXT:{post,get}".
std::vector<std::string> values_of(const CLI::Option& option) {
  const auto type = option.get_type_name();
  const auto begin = type.find('{'), end = type.find('}');
  std::vector<std::string> out;
  if (begin == std::string::npos || end == std::string::npos) return out;
  std::istringstream list(type.substr(begin + 1, end - begin - 1));
  for (std::string one; std::getline(list, one, ',');) out.push_back(one);
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

}  // namespace

std::string manual_page(const CLI::App& parser) {
  std::string out = std::format(".TH DOXLAB 1 \"\" \"doxlab {0}\" \"User Commands\"\n.SH NAME\ndoxlab \\- {1}\n", DOXLAB_VERSION,
                                "measure what encrypted DNS costs on the wire, and say why");
  out += ".SH SYNOPSIS\n.B doxlab\n\\fICOMMAND\\fR [\\fIOPTION\\fR]...\n.SH DESCRIPTION\n" + roff(parser.get_description()) + "\n";
  out += ".SH COMMANDS\n";
  for (const auto* command : commands_of(parser)) {
    out += std::format(".SS {}\n{}\n", roff(command->get_name()), roff(command->get_description()));
    out += option_entries(*command);
    if (const auto footer = command->get_footer(); !footer.empty()) out += ".PP\n" + literal(footer);
  }
  out += ".SH EXIT STATUS\n.TP\n0\nIt was done.\n.TP\n1\nIt failed, or a lookup got no answer; what a command means by that is above.\n"
         ".TP\n2\nThe command line is wrong.\n.TP\n130\nInterrupted; what was measured until then is kept.\n";
  out += ".SH ENVIRONMENT\n.TP\nSSLKEYLOGFILE\nThe TLS secrets of all sessions are appended to this file.\n"
         ".TP\nNO_COLOR\nIf set, no colours on a terminal.\n";
  if (const auto footer = parser.get_footer(); !footer.empty()) out += ".SH EXAMPLES\n" + literal(footer);
  return out;
}

std::string bash_completion(const CLI::App& parser) {
  std::string names, cases, values;
  for (const auto* command : commands_of(parser)) {
    names += (names.empty() ? "" : " ") + command->get_name();
    std::vector<std::string> options;
    for_each_option(*command, [&](const CLI::Option& option) {
      for (const auto& name : option.get_lnames()) options.push_back("--" + name);
      if (const auto known = values_of(option); !known.empty() && !option.get_lnames().empty())
        values += std::format("    {}:--{}) words=\"{}\" ;;\n", command->get_name(), option.get_lnames().front(), joined(known));
    });
    cases += std::format("    {}) words=\"{}\" ;;\n", command->get_name(), joined(options));
  }
  return std::format(R"(# bash completion of doxlab; put it where bash-completion looks, or source it.
_doxlab() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{0} --help --version" -- "$current"))
    return
  fi
  case "$command:$previous" in
{2}    *)
  case "$command" in
{1}  esac
  ;;
  esac
  if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$current")); fi
  if [ "${{#COMPREPLY[@]}}" -eq 0 ]; then COMPREPLY=($(compgen -f -- "$current")); fi
}}
complete -F _doxlab doxlab
)",
                     names, cases, values);
}

std::string zsh_completion(const CLI::App& parser) {
  return "#compdef doxlab\nautoload -U +X bashcompinit && bashcompinit\n" + bash_completion(parser);
}

std::string fish_completion(const CLI::App& parser) {
  std::string out = "# fish completion of doxlab\n";
  for (const auto* command : commands_of(parser)) {
    out += std::format("complete -c doxlab -n __fish_use_subcommand -f -a {} -d {}\n", command->get_name(),
                       fish_quoted(command->get_description()));
    for_each_option(*command, [&](const CLI::Option& option) {
      if (option.get_lnames().empty()) return;
      out += std::format("complete -c doxlab -n '__fish_seen_subcommand_from {}' -l {}", command->get_name(), option.get_lnames().front());
      if (const auto known = values_of(option); !known.empty()) out += std::format(" -x -a {}", fish_quoted(joined(known)));
      else if (option.get_type_size() != 0) out += " -r";
      out += " -d " + fish_quoted(option.get_description()) + "\n";
    });
  }
  return out;
}

}  // namespace doxlab::app
