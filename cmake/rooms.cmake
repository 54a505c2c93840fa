# galley_precompiled(<name> [OPTIONS <flags>...] [LINK <targets>...] HEADERS <headers>...)
#   Precompiles those headers once, for every target that asks for them by galley_precompile.
# galley_precompile(<target> <name>)
#   Every file still includes what it uses: the builds with GALLEY_PCH=OFF and clang-tidy see the
#   files without them.
function(galley_precompiled name)
  cmake_parse_arguments(PCH "" "" "OPTIONS;LINK;HEADERS" ${ARGN})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled/${name}.cc CONTENT "")
  add_library(galley_precompiled_${name} OBJECT ${PROJECT_BINARY_DIR}/precompiled/${name}.cc)
  target_link_libraries(galley_precompiled_${name} PRIVATE galley_flags ${PCH_LINK})
  target_compile_options(galley_precompiled_${name} PRIVATE "${PCH_OPTIONS}")
  target_precompile_headers(galley_precompiled_${name} PRIVATE ${PCH_HEADERS})
  galley_for_ccache(galley_precompiled_${name})
endfunction()
function(galley_precompile target name)
  if(GALLEY_PCH)
    target_precompile_headers(${target} REUSE_FROM galley_precompiled_${name})
    galley_for_ccache(${target})
  endif()
endfunction()
function(galley_for_ccache target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()
set(GALLEY_COMMON_HEADERS <algorithm> <chrono> <functional> <map> <memory> <mutex> <optional>
  <set> <string> <string_view> <tl/expected.hpp> <unordered_map> <variant> <vector>)
set(GALLEY_TEST_HEADERS ${GALLEY_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
# With GALLEY_SMALL a release is compiled for size, but for the rooms that say FAST; and what nothing
# calls is in a section of its own, which the single-file program leaves out (docs/adr/0086).
set(GALLEY_SECTION_OPTIONS "")
set(GALLEY_SIZE_OPTIONS "")
if(GALLEY_SMALL)
  set(GALLEY_SECTION_OPTIONS "$<$<CONFIG:Release>:-ffunction-sections;-fdata-sections>")
  set(GALLEY_SIZE_OPTIONS "$<$<CONFIG:Release>:-Os>")
endif()
if(GALLEY_PCH)
  if(GALLEY_SMALL)
    galley_precompiled(fast OPTIONS ${GALLEY_SECTION_OPTIONS} HEADERS ${GALLEY_COMMON_HEADERS})
    galley_precompiled(fast_json OPTIONS ${GALLEY_SECTION_OPTIONS} HEADERS
      ${GALLEY_COMMON_HEADERS} <nlohmann/json.hpp>)
  endif()
  galley_precompiled(plain OPTIONS ${GALLEY_SECTION_OPTIONS} ${GALLEY_SIZE_OPTIONS} HEADERS
    ${GALLEY_COMMON_HEADERS})
  galley_precompiled(json OPTIONS ${GALLEY_SECTION_OPTIONS} ${GALLEY_SIZE_OPTIONS} HEADERS
    ${GALLEY_COMMON_HEADERS} <nlohmann/json.hpp>)
  if(GALLEY_TESTS)
    galley_precompiled(test_plain OPTIONS -O0 LINK GTest::gmock HEADERS ${GALLEY_TEST_HEADERS})
    galley_precompiled(test_json OPTIONS -O0 LINK GTest::gmock HEADERS ${GALLEY_TEST_HEADERS} <nlohmann/json.hpp>)
  endif()
endif()

# Test doubles of the rooms (the memory directory, the fault directory): for tests, benchmarks and
# fuzz targets, in no library that is installed.
add_library(galley_doubles STATIC)

# galley_room(<folder> [FAST] [ONLY_WITH <option>] [DOUBLES <sources>...] [DEPENDS <folder>...]
#             [LINK <targets>...])
#   Makes the static library of one folder (staging/fs -> galley_staging_fs) from every .cc in it.
#   ONLY_WITH names an option of CMake without which nothing of the room is compiled.
#   FAST rooms are compiled for speed: what they do for each line of a text costs.
#   DOUBLES names sources that go to galley_doubles instead.
#   DEPENDS names the rooms below it; tests/architecture reads the includes and holds us to it.
#   Header-only libraries and our own flags end with the build: who links to us needs neither. Where
#   there is an archive of a library, the build links that.
set(GALLEY_HEADER_ONLY galley_flags galley_dtl galley_xxhash galley_valijson galley_toml
  nlohmann_json::nlohmann_json)
function(galley_room folder)
  cmake_parse_arguments(ROOM "FAST" "ONLY_WITH" "DOUBLES;DEPENDS;LINK" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  if(ROOM_ONLY_WITH AND NOT ${ROOM_ONLY_WITH})
    set(sources "")
  endif()
  foreach(double ${ROOM_DOUBLES})
    list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/${folder}/${double})
    target_sources(galley_doubles PRIVATE ${PROJECT_SOURCE_DIR}/${folder}/${double})
  endforeach()
  if(ROOM_DOUBLES)
    target_link_libraries(galley_doubles PRIVATE galley_flags PUBLIC galley_${name})
  endif()
  if(sources)
    add_library(galley_${name} STATIC ${sources})
    set(scope PUBLIC)
    target_compile_options(galley_${name} PRIVATE "${GALLEY_SECTION_OPTIONS}")
    if(NOT ROOM_FAST)
      target_compile_options(galley_${name} PRIVATE "${GALLEY_SIZE_OPTIONS}")
    endif()
    foreach(library galley_flags ${ROOM_LINK})
      if(library IN_LIST GALLEY_HEADER_ONLY)
        set(library $<BUILD_INTERFACE:${library}>)
      elseif(DEFINED "GALLEY_ARCHIVE_OF_${library}")
        set(library $<BUILD_INTERFACE:${GALLEY_ARCHIVE_OF_${library}}>
          $<INSTALL_INTERFACE:${library}>)
      endif()
      target_link_libraries(galley_${name} PRIVATE ${library})
    endforeach()
    list(LENGTH sources count)
    # The helper is not instrumented (CMakeLists.txt), so headers that are do not fit it.
    if(count GREATER 7 AND NOT (GALLEY_SANITIZE AND folder STREQUAL "staging/sandbox/helper"))
      set(precompiled plain)
      if(nlohmann_json::nlohmann_json IN_LIST ROOM_LINK)
        set(precompiled json)
      endif()
      if(ROOM_FAST AND GALLEY_SMALL)
        string(REPLACE plain fast precompiled ${precompiled})
        string(REPLACE json fast_json precompiled ${precompiled})
      endif()
      galley_precompile(galley_${name} ${precompiled})
    endif()
  else()
    add_library(galley_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(galley_${name} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  foreach(below ${ROOM_DEPENDS})
    string(REPLACE "/" "_" below_name ${below})
    target_link_libraries(galley_${name} ${scope} galley_${below_name})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY GALLEY_ROOM_TARGETS galley_${name})
endfunction()

# galley_tests(<folder> [LINK <targets>...])
#   One test program from every *_test.cc in tests/<folder>; other .cc files there are helpers.
function(galley_tests folder)
  cmake_parse_arguments(TESTS "" "" "LINK" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources})
  target_link_libraries(test_${name} PRIVATE galley_flags galley_test_support ${TESTS_LINK}
    GTest::gmock GTest::gtest_main)
  target_compile_definitions(test_${name} PRIVATE
    GALLEY_SOURCE_DIR="${PROJECT_SOURCE_DIR}" GALLEY_BINARY_DIR="${PROJECT_BINARY_DIR}")
  # The rooms that a test runs are optimised; its own code need not be.
  target_compile_options(test_${name} PRIVATE -O0)
  if(nlohmann_json::nlohmann_json IN_LIST TESTS_LINK)
    galley_precompile(test_${name} test_json)
  else()
    galley_precompile(test_${name} test_plain)
  endif()
  # The gate judges the change and not the luck of the day: properties draw from one seed in ctest,
  # and from a new one whenever a test program is run by hand.
  gtest_discover_tests(test_${name} TEST_PREFIX "${folder}:" DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300 LABELS ${folder}
    ENVIRONMENT "RC_PARAMS=seed=20261122")
endfunction()
