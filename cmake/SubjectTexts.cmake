# The subject files (subjects/*.toml) as text in the binary: lab/subject_texts.hpp below the build folder.
file(GLOB subject_files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/subjects/*.toml")
set(subject_texts "")
foreach(subject_file ${subject_files})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${subject_file}")
  cmake_path(GET subject_file STEM subject_name)
  file(READ "${subject_file}" subject_text)
  string(APPEND subject_texts "    {\"${subject_name}\", R\"subject(${subject_text})subject\"},\n")
endforeach()
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/lab/subject_texts.hpp" @ONLY CONTENT [[
#pragma once
// Made from subjects/*.toml by cmake/SubjectTexts.cmake.
#include <string_view>
#include <utility>

namespace doxlab::lab {
inline constexpr std::pair<std::string_view, std::string_view> kSubjectTexts[] = {
@subject_texts@};
}  // namespace doxlab::lab
]])
target_include_directories(doxlab_lab PRIVATE "${CMAKE_BINARY_DIR}/generated")
