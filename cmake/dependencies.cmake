# Every third-party library is found and named here only. scripts/setup installs them.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tl-expected REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(pugixml REQUIRED)
find_package(SQLite3 REQUIRED)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)

# This library is loaded at run time when something needs git (docs/adr/0003), so the build uses
# only its headers.
pkg_check_modules(GIT2 REQUIRED libgit2)

# This is the archive, not the shared object. Only SHA-256 is used, and loading libcrypto.so would
# take longer than the whole start of the program.
find_library(GALLEY_CRYPTO_ARCHIVE NAMES libcrypto.a REQUIRED)
add_library(galley_crypto INTERFACE)
target_link_libraries(galley_crypto INTERFACE $<BUILD_INTERFACE:${GALLEY_CRYPTO_ARCHIVE}>
  $<INSTALL_INTERFACE:crypto> Threads::Threads ${CMAKE_DL_LIBS})

find_path(GALLEY_DTL_INCLUDE dtl/dtl.hpp REQUIRED)
add_library(galley_dtl INTERFACE)
target_include_directories(galley_dtl SYSTEM INTERFACE ${GALLEY_DTL_INCLUDE})

find_path(GALLEY_XXHASH_INCLUDE xxhash.h REQUIRED)
add_library(galley_xxhash INTERFACE)
target_include_directories(galley_xxhash SYSTEM INTERFACE ${GALLEY_XXHASH_INCLUDE})
target_compile_definitions(galley_xxhash INTERFACE XXH_INLINE_ALL)

# scripts/setup unpacks the package here, because installing it would also install Qt and Poco.
find_path(GALLEY_VALIJSON_INCLUDE valijson/validator.hpp REQUIRED
  HINTS ${PROJECT_SOURCE_DIR}/.deps/valijson/usr/include $ENV{GALLEY_DEPS}/valijson/usr/include)
add_library(galley_valijson INTERFACE)
target_include_directories(galley_valijson SYSTEM INTERFACE ${GALLEY_VALIJSON_INCLUDE})
target_compile_definitions(galley_valijson INTERFACE VALIJSON_USE_EXCEPTIONS=1)

# Only galley-serve-nats uses this library.
if(GALLEY_WITH_NATS)
  pkg_check_modules(NATS REQUIRED IMPORTED_TARGET libnats)
  add_library(galley_nats ALIAS PkgConfig::NATS)
endif()

# Loading shared libraries took most of the program's start time (docs/adr/0022), so our own
# programs link the archives. The installed package names the shared libraries, as other projects
# know them. galley_room reads GALLEY_ARCHIVE_OF_<library>.
function(galley_archive library name archive)
  find_library(GALLEY_${name}_ARCHIVE NAMES lib${archive}.a)
  if(NOT GALLEY_${name}_ARCHIVE)
    return()
  endif()
  add_library(galley_archive_${name} INTERFACE)
  target_link_libraries(galley_archive_${name} INTERFACE ${GALLEY_${name}_ARCHIVE} ${ARGN})
  target_include_directories(galley_archive_${name} SYSTEM INTERFACE
    $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
  set("GALLEY_ARCHIVE_OF_${library}" galley_archive_${name} PARENT_SCOPE)
endfunction()
galley_archive(ZLIB::ZLIB zlib z)
galley_archive(PkgConfig::RE2 re2 re2 Threads::Threads)
galley_archive(yaml-cpp yaml yaml-cpp)
galley_archive(pugixml::pugixml pugixml pugixml)
galley_archive(SQLite::SQLite3 sqlite sqlite3 Threads::Threads ${CMAKE_DL_LIBS} m)

# Debian does not package archives of fmt and toml++. The archive of fmt is built here. Only one
# source uses toml++, and it includes the headers.
if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
  add_library(galley_archive_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt.cc)
  target_include_directories(galley_archive_fmt SYSTEM PUBLIC
    $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
  set(GALLEY_ARCHIVE_OF_fmt::fmt galley_archive_fmt)
endif()
add_library(galley_toml INTERFACE)
target_include_directories(galley_toml SYSTEM INTERFACE
  $<TARGET_PROPERTY:tomlplusplus::tomlplusplus,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_definitions(galley_toml INTERFACE TOML_HEADER_ONLY=1)
