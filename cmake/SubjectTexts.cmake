# The subject files (subjects/*.toml) and client files (clients/*.toml) as text in the binary: lab/subject_texts.hpp and
# lab/client_texts.hpp below the build folder.
function(doxlab_described_texts folder header constant)
  file(GLOB described_files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${folder}/*.toml")
  set(described_texts "")
  foreach(described_file ${described_files})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${described_file}")
    cmake_path(GET described_file STEM described_name)
    file(READ "${described_file}" described_text)
    string(APPEND described_texts "    {\"${described_name}\", R\"toml(${described_text})toml\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/lab/${header}" @ONLY CONTENT [[
#pragma once
// Made from @folder@/*.toml by cmake/SubjectTexts.cmake.
#include <string_view>
#include <utility>

namespace doxlab::lab {
inline constexpr std::pair<std::string_view, std::string_view> @constant@[] = {
@described_texts@};
}  // namespace doxlab::lab
]])
endfunction()
doxlab_described_texts(subjects subject_texts.hpp kSubjectTexts)
doxlab_described_texts(clients client_texts.hpp kClientTexts)
target_include_directories(doxlab_lab PRIVATE "${CMAKE_BINARY_DIR}/generated")
