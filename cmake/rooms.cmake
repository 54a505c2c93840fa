# galley_unity(<target> <sources in a batch>)
#   With GALLEY_UNITY, some sources of a target are compiled together, because most of the time goes
#   into the headers that each source reads (docs/adr/0092). So names in the anonymous namespaces of
#   a room must be distinct, and code that two files need must be in a header. With
#   GALLEY_UNITY=OFF, and in clang-tidy, each file is compiled alone, so it must include everything
#   that it uses.
function(galley_unity target batch)
  if(GALLEY_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
    if(GALLEY_UNITY_BATCH)  # to look at a whole room at once
      set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${GALLEY_UNITY_BATCH})
    endif()
  endif()
endfunction()
# With GALLEY_SMALL, a release is optimised for size, except for rooms with FAST. Each function has
# its own section, so that the single-file program can omit unused functions (docs/adr/0086).
set(GALLEY_SECTION_OPTIONS "")
set(GALLEY_SIZE_OPTIONS "")
if(GALLEY_SMALL)
  set(GALLEY_SECTION_OPTIONS "$<$<CONFIG:Release>:-ffunction-sections;-fdata-sections>")
  set(GALLEY_SIZE_OPTIONS "$<$<CONFIG:Release>:-Os>")
endif()

# galley_room(<folder> [FAST] [ONLY_WITH <option>] [DEPENDS <folder>...] [LINK <targets>...])
#   Makes the static library of one folder (staging/fs -> galley_staging_fs) from every .cc in it.
#   ONLY_WITH names a CMake option. Without this option, nothing of the room is compiled.
#   FAST rooms are optimised for speed, because they do work for each line of a text.
#   DEPENDS names the lower rooms that it uses. tests/architecture compares the includes with this
#   list.
#   Header-only libraries and our own flags are private to the build: programs that link to Galley
#   do not need them. If a library has an archive, the build links the archive.
set(GALLEY_HEADER_ONLY galley_flags galley_dtl galley_xxhash galley_valijson galley_toml
  nlohmann_json::nlohmann_json)
function(galley_room folder)
  cmake_parse_arguments(ROOM "FAST" "ONLY_WITH" "DEPENDS;LINK" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  if(ROOM_ONLY_WITH AND NOT ${ROOM_ONLY_WITH})
    set(sources "")
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
    galley_unity(galley_${name} 16)
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
#   Makes one test program from every *_test.cc in tests/<folder>. Other .cc files in the folder are
#   shared code.
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
  # The rooms are optimised, because tests run them. The test code itself does not need it.
  target_compile_options(test_${name} PRIVATE -O0)
  galley_unity(test_${name} 12)
  # CI must judge the change and not chance. So in ctest, property tests use one fixed seed. A test
  # program that is run by hand uses a new seed each time.
  gtest_discover_tests(test_${name} TEST_PREFIX "${folder}:" DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300 LABELS ${folder}
    ENVIRONMENT "RC_PARAMS=seed=20261122")
endfunction()
