#pragma once
/// A server that others wrote, as a file describes it (docs/subjects.md): how it is started, with which
/// configuration, and what it offers.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "transport/transport.hpp"

namespace doxlab::lab {

/// Values of placeholders by name. `{{name}}` in a text stands for the value.
using SubjectValues = std::map<std::string, std::string, std::less<>>;

struct SubjectFile {
  std::string name;  ///< in the work folder; no path
  std::string text;  ///< with placeholders
};

struct Subject {
  std::string name;
  std::string summary;                       ///< one line for people
  std::string package;                       ///< Debian package or packages that hold the program; may be empty
  std::vector<std::string> command;          ///< program and arguments, with placeholders; stays in the foreground
  std::vector<std::string> version_command;  ///< prints a version; empty: none is known
  std::vector<SubjectFile> files;            ///< written into the work folder before the start
  std::map<Transport, std::uint16_t> ports;  ///< the transports that it offers
  std::string doh_path = "/dns-query";
  /// Options of the built-in resolver that it follows, without dashes: those its files have placeholders for.
  std::set<std::string, std::less<>> options;
};

/// Largest subject file, and the largest file that is made of one with all values put in.
inline constexpr std::size_t kLargestSubjectFile = 1 << 20, kLargestSubjectText = 32 << 20;

/// Reads a subject file. Errors: `source`, the line, and what is wrong: no TOML, a name that is none of the
/// format, a type, a placeholder or an option that does not exist, a transport that does not exist.
Result<Subject> parse_subject(std::string_view toml, std::string_view source);

/// Names of the subjects that are built in, sorted.
std::vector<std::string> built_in_subjects();
/// One of them. Errors: no subject of that name.
Result<Subject> built_in_subject(std::string_view name);

/// `text` with every placeholder replaced. Braces that hold no name are left alone. Errors: a name without a
/// value; a result above kLargestSubjectText.
Result<std::string> fill_in(std::string_view text, const SubjectValues& values);

/// The version that its program prints, "1.26.3"; empty if it prints none or has no command for it.
/// Errors: std::runtime_error if the program is not there, with the package that has it.
std::string ask_version(const Subject& subject);

/// "doq, doh3".
std::string offered_transports(const Subject& subject);

}  // namespace doxlab::lab
