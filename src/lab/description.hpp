#pragma once
/// What the files that describe programs of others have in common, servers and clients alike. Internal.

#include <string>
#include <string_view>
#include <vector>

#include "base/toml.hpp"
#include "lab/subject.hpp"

namespace doxlab::lab {

/// Errors: `source`, the line, and what is no TOML; more than kLargestSubjectFile.
Result<toml::table> parse_description(std::string_view toml, std::string_view source);

/// Reads values and keeps the first error, with its place; what follows an error has no meaning. `source` must outlive it.
class DescriptionReader {
 public:
  explicit DescriptionReader(std::string_view source) : source_(source) {}

  void refuse(const toml::node& node, std::string_view what);
  void refuse(std::string_view what);
  const std::string& error() const { return error_; }  ///< empty: none

  /// `name` is that of the key, for the error.
  std::string text(const toml::node& node, std::string_view name);
  std::vector<std::string> texts(const toml::node& node, std::string_view name);
  /// Null after an error.
  const toml::table* table(const toml::node& node, std::string_view name);
  /// [[file]] with `name` and `text`.
  std::vector<SubjectFile> files(const toml::node& node);
  /// Texts that are options, each one of `known`. `who` can follow them: "a server".
  std::set<std::string, std::less<>> options(const toml::node& node, std::span<const std::string_view> known, std::string_view who);
  /// A name of a program, which names files of results too.
  void check_name(std::string_view name);

 private:
  std::string_view source_;
  std::string error_;
};

}  // namespace doxlab::lab
