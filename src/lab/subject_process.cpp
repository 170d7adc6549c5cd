#include "lab/subject_process.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstring>
#include <format>
#include <vector>


namespace doxlab::lab {
namespace {

constexpr auto kVersionLimit = 10s;
constexpr auto kTermination = 1s;
constexpr std::size_t kKeptOutput = 64 * 1024;
constexpr std::size_t kLongestLine = 200;
/// As client and resolver have it in a lab, so that other processes of the machine do not make it slower.
constexpr int kSubjectPriority = 1;

std::string filled(std::string_view text, const SubjectValues& values, const Subject& subject) {
  auto out = fill_in(text, values);
  if (!out) throw std::runtime_error(std::format("{}: {}", subject.name, out.error().message));
  return std::move(*out);
}

}  // namespace

std::string how_it_ended(int status) {
  if (status <= 128) return std::format("exit code {}", status);
  return std::format("signal {} ({})", status - 128, ::strsignal(status - 128));
}

std::string last_lines(std::string_view output, std::size_t lines) {
  std::vector<std::string> found;
  while (!output.empty() && found.size() < lines) {
    if (output.ends_with('\n')) output.remove_suffix(1);
    const auto newline = output.rfind('\n');
    std::string line(output.substr(newline == std::string_view::npos ? 0 : newline + 1));
    if (line.size() > kLongestLine) line = line.substr(0, kLongestLine) + "...";
    std::ranges::replace_if(line, [](char c) { return c != '\t' && !std::isprint(static_cast<unsigned char>(c)); }, '?');
    if (!line.empty()) found.push_back(std::move(line));
    if (newline == std::string_view::npos) break;
    output = output.substr(0, newline);
  }
  std::string out;
  for (auto line = found.rbegin(); line != found.rend(); ++line) out += *line + '\n';
  return out;
}

std::unique_ptr<net::ChildProcess> start_described(const DescribedProgram& program, const std::vector<std::string>& command,
                                                   const net::ChildOptions& options) {
  try {
    return std::make_unique<net::ChildProcess>(command, options);
  } catch (const std::system_error& error) {
    if (error.code().value() != ENOENT) throw std::runtime_error(std::format("{}: {}", program.name, error.what()));
    std::string what = std::format("{}: the program {} is not on this machine", program.name, command.front());
    if (!program.package.empty())
      what += std::format("; it is in the Debian package {} (or run doxlab as ./dev --with-test-tools "
                          "build/release/apps/doxlab/doxlab, where it is installed)",
                          program.package);
    throw std::runtime_error(what);
  }
}

std::string ask_version(const DescribedProgram& program, const std::vector<std::string>& version_command) {
  if (version_command.empty()) return {};
  const auto child = start_described(program, version_command, {.keep_last = kKeptOutput});
  child->wait(kVersionLimit);
  const auto text = child->output() + child->errors();
  // The first number with a dot in it: "nginx/1.26.3", "version 3.4.6", "Version 1.22.0".
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i]) || (i > 0 && (is_digit(text[i - 1]) || text[i - 1] == '.'))) continue;
    auto end = i;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '.' ||
                                 text[end] == '-' || text[end] == '+'))
      ++end;
    const auto version = text.substr(i, std::min<std::size_t>(end - i, 40));
    if (const auto dot = version.find('.'); dot != std::string::npos && dot + 1 < version.size() && is_digit(version[dot + 1]))
      return version;
    i = end;
  }
  return {};
}

std::string ask_version(const Subject& subject) {
  return ask_version({subject.name, subject.package}, subject.version_command);
}

SubjectProcess::SubjectProcess(Lab& lab, const Subject& subject, SubjectValues values,
                               const std::map<std::string, std::string>& contents) {
  // In a thread of its own: one that has a mount namespace of its own is of no use for anything else.
  lab.run_in(Side::Server, [&] { start_in_folder(subject, values, contents); });
}

void SubjectProcess::start_in_folder(const Subject& subject, SubjectValues& values,
                                     const std::map<std::string, std::string>& contents) {
  const auto& folder = folder_.emplace();
  // Those of the machine cannot be reached from the lab: a program that looks its own name up would wait for them.
  folder.write("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n");
  folder.show_at("/etc/resolv.conf", "resolv.conf");
  values["folder"] = folder.path();
  for (auto& [name, value] : values)
    if (name.ends_with("_file")) value = folder.path() + "/" + value;
  for (const auto& [name, content] : contents) folder.write(name, content);
  for (const auto& file : subject.files) folder.write(file.name, filled(file.text, values, subject));
  std::vector<std::string> command;
  for (const auto& word : subject.command) command.push_back(filled(word, values, subject));
  child_ = start_described({subject.name, subject.package}, command,
                 {.working_directory = folder.path(), .keep_last = kKeptOutput, .real_time_priority = kSubjectPriority});
}

SubjectProcess::~SubjectProcess() {
  if (!child_) return;
  child_->signal(SIGTERM);
  child_->wait(kTermination);
}

std::optional<std::string> SubjectProcess::ended() const {
  const auto status = child_->wait(0ms);
  return status ? std::optional(how_it_ended(*status)) : std::nullopt;
}

std::string SubjectProcess::last_words(std::size_t lines) const {
  return last_lines(child_->output() + child_->errors(), lines);
}

}  // namespace doxlab::lab
