# Writes OUT, a C++ file with the texts of FILES (joined by |), their names and SHA-256 sums.
string(REPLACE "|" ";" files "${FILES}")
set(rows "")
set(texts "")
set(number 0)
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)
  if(name STREQUAL "copyright")  # Debian calls the licence of every package so
    get_filename_component(folder "${file}" DIRECTORY)
    get_filename_component(name "${folder}" NAME)
    string(APPEND name ".copyright")
  endif()
  file(READ "${file}" text)
  string(REGEX REPLACE "//# sourceMappingURL=[^\n]*\n?" "" text "${text}")
  string(FIND "${text}" ")embedded\"" end)
  string(FIND "${text}" "</script" script)
  string(FIND "${text}" "<!--" comment)
  if(NOT end EQUAL -1 OR NOT script EQUAL -1 OR NOT comment EQUAL -1)
    message(FATAL_ERROR "${file} holds characters that end a text in C++ or a script in HTML")
  endif()
  string(SHA256 sum "${text}")
  string(APPEND texts "constexpr char kText${number}[] = R\"embedded(${text})embedded\";\n")
  string(APPEND rows "  if (name == \"${name}\") return {{kText${number}, sizeof kText${number} - 1}, \"${sum}\"};\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUT}" "#include \"report/html/embedded.hpp\"

#include <stdexcept>

namespace doxlab::report::html {
namespace {

${texts}
}  // namespace

Embedded embedded(std::string_view name) {
${rows}  throw std::out_of_range(\"nothing of this name is embedded\");
}

}  // namespace doxlab::report::html
")
