# Every third-party library, found once and named once. scripts/setup installs them.
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

# Loaded at run time when something needs git (docs/adr/0003): only its headers are used to build.
pkg_check_modules(GIT2 REQUIRED libgit2)

# The archive, not the shared object: only SHA-256 is used, and loading libcrypto.so would cost more
# than the whole start of the program.
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

# scripts/setup unpacks the package here: installing it would pull in Qt and Poco.
find_path(GALLEY_VALIJSON_INCLUDE valijson/validator.hpp REQUIRED
  HINTS ${PROJECT_SOURCE_DIR}/.deps/valijson/usr/include $ENV{GALLEY_DEPS}/valijson/usr/include)
add_library(galley_valijson INTERFACE)
target_include_directories(galley_valijson SYSTEM INTERFACE ${GALLEY_VALIJSON_INCLUDE})
target_compile_definitions(galley_valijson INTERFACE VALIJSON_USE_EXCEPTIONS=1)
