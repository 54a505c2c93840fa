# An additional build for scripts/coverage: the sources of tools/ with line counters, and their
# tests. The lower rooms are linked as they are, so this takes about a minute.
get_target_property(counted_sources galley_tools SOURCES)
add_library(galley_tools_counted STATIC EXCLUDE_FROM_ALL ${counted_sources})
get_target_property(counted_links galley_tools LINK_LIBRARIES)
target_link_libraries(galley_tools_counted PUBLIC ${counted_links})
target_include_directories(galley_tools_counted PUBLIC
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_options(galley_tools_counted PRIVATE -O0 --coverage)
galley_unity(galley_tools_counted 16)
target_link_options(galley_tools_counted PUBLIC --coverage)
file(GLOB counted_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/tools/*.cc)
add_executable(test_tools_counted EXCLUDE_FROM_ALL ${counted_tests})
target_link_libraries(test_tools_counted PRIVATE galley_flags galley_tools_counted
  galley_test_support nlohmann_json::nlohmann_json GTest::gmock GTest::gtest_main)
target_compile_definitions(test_tools_counted PRIVATE
  GALLEY_SOURCE_DIR="${PROJECT_SOURCE_DIR}" GALLEY_BINARY_DIR="${PROJECT_BINARY_DIR}")
target_compile_options(test_tools_counted PRIVATE -O0)
galley_unity(test_tools_counted 12)
