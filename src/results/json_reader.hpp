#pragma once
/// How results are read back, for the .cpp files of this room. A file may come from anywhere: whatever is in
/// it gives a record or a sentence.

#include <algorithm>
#include <format>
#include <glaze/glaze.hpp>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace doxlab::results {

/// "line 3, column 17": where in a text a byte is, both from 1.
inline std::string position(std::string_view text, std::size_t offset) {
  const auto before = text.substr(0, std::min(offset, text.size()));
  const auto line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
  const auto line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return std::format("line {}, column {}", line, before.size() - line_start + 1);
}

/// `, "name"` of the field whose name begins at a byte, or nothing where it ends nowhere near.
inline std::string quoted_name(std::string_view text, std::size_t offset) {
  constexpr std::size_t kLongest = 60;
  const auto name = text.substr(std::min(offset, text.size()), kLongest);
  const auto end = name.find('"');
  return end == name.npos ? std::string() : std::format(", \"{}\"", name.substr(0, end));
}

/// Every field that is not optional must be there, and no other may be: a file of another version is refused
/// rather than understood in part.
struct StrictJson : glz::opts {
  bool error_on_missing_keys = true;
};

template <class Record>
Result<Record> read_strictly(std::string_view text) {
  Record record;
  static constexpr StrictJson kOptions{};
  const std::string buffer(text);  // with the terminating zero that the reader relies on
  if (const auto error = glz::read<kOptions>(record, buffer)) {
    const auto where = position(text, error.count);
    switch (error.ec) {
      case glz::error_code::unknown_key:
        return fail(std::format("{}: a field that this doxlab does not know{}", where,
                                quoted_name(buffer, error.count)));
      case glz::error_code::missing_key:
        return fail(std::format("{}: the field \"{}\" is missing", where, error.custom_error_message));
      case glz::error_code::unexpected_end:
      case glz::error_code::end_reached:
        return fail(std::format("{}: it ends in the middle", where));
      default:
        return fail(std::format("{}: not what doxlab writes ({})", where, glz::format_error(error.ec)));
    }
  }
  return record;
}

/// What the first fields say that a text is. Errors: no JSON object; of another schema; another experiment.
Result<void> check_kind(std::string_view text, std::string_view experiment, int schema_version);

}  // namespace doxlab::results
