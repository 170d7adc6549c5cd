#include <algorithm>
#include <format>

#include "results/check.hpp"

namespace doxlab::results {
namespace {

/// Text for an attribute. XML 1.0 has no way to write control characters, so they become a replacement character.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += "&#10;"; break;
      case '\t': out += "&#9;"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) out += "\xEF\xBF\xBD";
        else out += c;
    }
  }
  return out;
}

}  // namespace

bool CheckRun::holds() const {
  return !assertions.empty() && std::ranges::all_of(assertions, &CheckedAssertion::holds);
}

std::string to_junit(const CheckRun& run) {
  const auto failures = std::ranges::count(run.assertions, false, &CheckedAssertion::holds);
  std::string out = std::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\">\n",
      escaped(run.results_file), run.assertions.size(), failures);
  for (const auto& it : run.assertions) {
    const auto where = it.transport.empty() ? it.experiment : std::format("{}.{}", it.experiment, it.transport);
    out += std::format("    <testcase classname=\"doxlab.{}\" name=\"{}: {}\"", escaped(where), escaped(it.rule), escaped(it.asserted));
    if (it.holds) out += "/>\n";
    else out += std::format(">\n      <failure message=\"{}\"/>\n    </testcase>\n", escaped(it.evidence));
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace doxlab::results
