# doxlab_embed(TARGET FILES PATH...): puts texts into a target. Its embedded.cpp is generated at build time and gives
# each file under its name, as src/report/html/embedded.hpp says.
function(doxlab_embed target)
  cmake_parse_arguments(ARG "" "" "FILES" ${ARGN})
  set(out "${CMAKE_CURRENT_BINARY_DIR}/embedded.cpp")
  list(JOIN ARG_FILES "|" joined)
  add_custom_command(OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" "-DOUT=${out}" "-DFILES=${joined}" -P "${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake"
    DEPENDS ${ARG_FILES} "${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake" VERBATIM)
  target_sources(${target} PRIVATE "${out}")
  set_source_files_properties("${out}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
