#include "files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <format>
#include <fstream>
#include <iostream>
#include <print>
#include <sstream>
#include <stdexcept>

#include "options.hpp"

namespace doxlab::app {
std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UsageError(std::format("{}: {}", path, std::strerror(errno)));
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw UsageError(path + ": a folder, and a file is expected");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

namespace {

/// The file that a path leads to: a symbolic link stays, what it names is written.
std::string target_of(const std::string& path) {
  std::error_code missing;
  const auto target = std::filesystem::canonical(path, missing);
  return missing ? path : target.string();
}

/// Devices and pipes are written in place; only a regular file can be replaced by another.
bool is_written_in_place(const std::string& target) {
  std::error_code missing;
  const auto status = std::filesystem::status(target, missing);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

std::runtime_error output_error(const std::string& path) {
  return std::runtime_error(std::format("{}: {}", path, std::strerror(errno)));
}

}  // namespace

void check_output(const std::string& path) {
  if (path.empty() || path == "-") return;
  const auto target = target_of(path);
  if (is_written_in_place(target)) {
    if (::access(target.c_str(), W_OK) != 0) throw output_error(path);
    if (!std::filesystem::is_directory(target)) return;
    errno = EISDIR;
    throw output_error(path);
  }
  const auto partial = target + ".partial";
  if (!std::ofstream(partial, std::ios::binary | std::ios::trunc)) throw output_error(path);
  std::remove(partial.c_str());
}

void write_output(const std::string& path, const std::string& content) {
  if (path == "-") {
    std::cout << content << std::flush;
    if (!std::cout) throw std::runtime_error("standard output: write failed");
    return;
  }
  const auto target = target_of(path);
  if (is_written_in_place(target)) {
    std::ofstream out(target, std::ios::binary);
    out << content;
    out.close();
    if (!out) throw output_error(path);
    return;
  }
  // Written beside and renamed, so that a full disk or Ctrl-C never leaves half a file under the name.
  const auto partial = target + ".partial";
  std::ofstream out(partial, std::ios::binary | std::ios::trunc);
  out << content;
  out.close();
  if (!out || std::rename(partial.c_str(), target.c_str()) != 0) {
    const auto error = output_error(path);
    std::remove(partial.c_str());
    throw error;
  }
}

void add_repetitions_option(CLI::App& command, std::size_t& value, const std::string& what, std::size_t most) {
  command.add_option("-n,--repetitions", value, "Lookups for each " + what)
      ->check(CLI::Range(std::size_t{1}, most))
      ->capture_default_str();
}

void add_json_option(CLI::App& command, std::string& path) {
  command.add_option("--json", path, "Write the results as JSON to this file; - is standard output");
}

}  // namespace doxlab::app
