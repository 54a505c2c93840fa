# galley_precompile(<target> <headers>...)
#   Precompiles those headers for the target. Every file still includes what it uses: the builds
#   with GALLEY_PCH=OFF and clang-tidy see the files without them.
function(galley_precompile target)
  if(GALLEY_PCH)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -fpch-preprocess)  # for ccache
    endif()
  endif()
endfunction()
set(GALLEY_COMMON_HEADERS <algorithm> <chrono> <functional> <map> <memory> <mutex> <optional>
  <set> <string> <string_view> <tl/expected.hpp> <unordered_map> <variant> <vector>)

# galley_room(<folder> [DEPENDS <folder>...] [LINK <targets>...])
#   Makes the static library of one folder (staging/fs -> galley_staging_fs) from every .cc in it.
#   DEPENDS names the rooms below it; tests/architecture reads the includes and holds us to it.
#   Header-only libraries and our own flags end with the build: who links to us needs neither. Where
#   there is an archive of a library, the build links that.
set(GALLEY_HEADER_ONLY galley_flags galley_dtl galley_xxhash galley_valijson galley_toml
  nlohmann_json::nlohmann_json)
function(galley_room folder)
  cmake_parse_arguments(ROOM "" "" "DEPENDS;LINK" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  if(sources)
    add_library(galley_${name} STATIC ${sources})
    set(scope PUBLIC)
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
    if(count GREATER 7)
      set(headers ${GALLEY_COMMON_HEADERS})
      if(nlohmann_json::nlohmann_json IN_LIST ROOM_LINK)
        list(APPEND headers <nlohmann/json.hpp>)
      endif()
      galley_precompile(galley_${name} ${headers})
    endif()
  else()
    add_library(galley_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(galley_${name} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/galley>)
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
  list(LENGTH sources count)
  if(count GREATER 2)
    galley_precompile(test_${name} ${GALLEY_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  # The gate judges the change and not the luck of the day: properties draw from one seed in ctest,
  # and from a new one whenever a test program is run by hand.
  gtest_discover_tests(test_${name} TEST_PREFIX "${folder}:" DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600 LABELS ${folder}
    ENVIRONMENT "RC_PARAMS=seed=20261122")
endfunction()
