# Builds galley-syntax, a separate program with Tree-sitter's library and the grammars that
# scripts/fetch-grammars put into .deps/grammars.
pkg_check_modules(TREE_SITTER REQUIRED tree-sitter)
find_library(GALLEY_TREE_SITTER_ARCHIVE NAMES libtree-sitter.a REQUIRED)
find_path(GALLEY_GRAMMARS tree-sitter-c/src/parser.c REQUIRED NO_DEFAULT_PATH
  HINTS ${PROJECT_SOURCE_DIR}/.deps/grammars $ENV{GALLEY_DEPS}/grammars)

add_library(galley_grammars STATIC)
foreach(grammar c cpp python javascript c-sharp typescript/typescript typescript/tsx)
  file(GLOB sources ${GALLEY_GRAMMARS}/tree-sitter-${grammar}/src/parser.c
    ${GALLEY_GRAMMARS}/tree-sitter-${grammar}/src/scanner.c)
  target_sources(galley_grammars PRIVATE ${sources})
  # Each grammar has its own tree_sitter/ next to its sources.
  set_source_files_properties(${sources} PROPERTIES
    INCLUDE_DIRECTORIES ${GALLEY_GRAMMARS}/tree-sitter-${grammar}/src)
endforeach()
target_compile_options(galley_grammars PRIVATE -std=c11 -w)
target_link_libraries(galley_grammars INTERFACE ${GALLEY_TREE_SITTER_ARCHIVE})
target_include_directories(galley_grammars SYSTEM INTERFACE ${TREE_SITTER_INCLUDE_DIRS})

target_link_libraries(galley_staging_sandbox_syntax_grammars PUBLIC galley_grammars)

# The program is static and at a fixed address. The tables of the grammars then need no relocation,
# so that a start reads only the parts that are used.
add_executable(galley_syntax staging/sandbox/syntax/grammars/main.cc)
set_target_properties(galley_syntax PROPERTIES OUTPUT_NAME galley-syntax)
target_link_libraries(galley_syntax PRIVATE galley_flags galley_staging_sandbox_syntax_grammars)
target_link_options(galley_syntax PRIVATE -static -no-pie)
set_target_properties(galley_syntax galley_grammars galley_staging_sandbox_syntax
  galley_staging_sandbox_syntax_grammars PROPERTIES GALLEY_UNINSTRUMENTED ON)
install(TARGETS galley_syntax RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/galley
  COMPONENT syntax)
