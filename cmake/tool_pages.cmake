# The pages of docs/tools are embedded in the program, so that `galley tools check` can read them
# anywhere.
file(GLOB tool_pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/tools/*.md)
list(JOIN tool_pages "+" joined_pages)
set(pages_source ${PROJECT_BINARY_DIR}/generated/tool_pages.cc)
add_custom_command(OUTPUT ${pages_source}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${pages_source} -DHEADER=cli/tool_calls.h
    -DNAMESPACE=galley::tool_pages "-DTEXTS=All=${joined_pages}"
    -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${tool_pages} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  COMMENT "Embedding the pages of tools" VERBATIM)
target_sources(galley_cli PRIVATE ${pages_source})
