#include "output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <print>
#include <string_view>

#include "files.hpp"

namespace doxlab::app {
namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

void Output::add_to(CLI::App& command) {
  add_json_option(command, json_);
  command.add_option("--format", format_, "What goes to standard output: table, markdown, csv (the tables alone) or json")
      ->check(CLI::IsMember({"table", "markdown", "csv", "json"}))
      ->capture_default_str();
}

void Output::check() const { check_output(json_path()); }

void Output::publish(const std::string& json, const report::Document& document) const {
  write(json);
  show(document);
}

void Output::write(const std::string& json) const {
  if (!json_.empty()) write_output(json_, json);
  if (format_ == "json" && json_ != "-") write_output("-", json);
}

void Output::show(const report::Document& document) const {
  std::FILE* const stream = has_json_on_standard_output() ? stderr : stdout;
  auto style = style_of(stream);
  if (format_ == "markdown") style.format = report::Format::Markdown;
  if (format_ == "csv") style.format = report::Format::Csv;
  std::print(stream, "{}", document.render(style));
}

report::Style style_of(std::FILE* stream) {
  report::Style out;
  const int fd = fileno(stream);
  if (isatty(fd) == 0) return out;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0) out.columns = size.ws_col;
  const char* terminal = std::getenv("TERM");
  out.has_colour = !is_set("NO_COLOR") && terminal != nullptr && std::string_view(terminal) != "dumb";
  return out;
}

}  // namespace doxlab::app
