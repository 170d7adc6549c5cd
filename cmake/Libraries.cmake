# The libraries that doxlab stands on. Each is listed with its reason in docs/dependencies.md.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# doxlab_library(NAME MODULE...): an interface target doxlab::lib::NAME from pkg-config modules,
# with the static link line where doxlab is linked static.
function(doxlab_library name)
  pkg_check_modules(${name} REQUIRED ${ARGN})
  add_library(doxlab_lib_${name} INTERFACE)
  add_library(doxlab::lib::${name} ALIAS doxlab_lib_${name})
  if(DOXLAB_STATIC)
    target_link_libraries(doxlab_lib_${name} INTERFACE ${${name}_STATIC_LIBRARIES})
  else()
    target_link_libraries(doxlab_lib_${name} INTERFACE ${${name}_LIBRARIES})
  endif()
  target_include_directories(doxlab_lib_${name} SYSTEM INTERFACE ${${name}_INCLUDE_DIRS})
endfunction()

doxlab_library(openssl "openssl>=3.5")
doxlab_library(ngtcp2 "libngtcp2_crypto_ossl" "libngtcp2>=1.22")
doxlab_library(nghttp3 "libnghttp3>=1.15")
doxlab_library(nghttp2 "libnghttp2>=1.64")
doxlab_library(mnl libmnl)
doxlab_library(sodium libsodium)

# libknot's static archive holds more than packets (DNSSEC, QUIC, LMDB); the parts used here need
# none of what its .pc file lists, so it is linked by name. Printing a DNSKEY takes the key tag from
# libdnssec, of which a static link then holds that one function and no GnuTLS.
add_library(doxlab_lib_knot INTERFACE)
add_library(doxlab::lib::knot ALIAS doxlab_lib_knot)
target_link_libraries(doxlab_lib_knot INTERFACE knot zscanner $<$<BOOL:${DOXLAB_STATIC}>:dnssec>)

add_library(doxlab_lib_asio INTERFACE)
add_library(doxlab::lib::asio ALIAS doxlab_lib_asio)
target_compile_definitions(doxlab_lib_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED)
target_link_libraries(doxlab_lib_asio INTERFACE Threads::Threads)
