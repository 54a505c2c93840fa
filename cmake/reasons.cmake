# The texts of `galley help REASON` are embedded in the program.
set(reasons ${PROJECT_SOURCE_DIR}/cli/reasons.json)
set(reasons_source ${PROJECT_BINARY_DIR}/generated/reasons.cc)
add_custom_command(OUTPUT ${reasons_source}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${reasons_source} -DHEADER=cli/reference.h
    -DNAMESPACE=galley::reference_text "-DTEXTS=Reasons=${reasons}"
    -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${reasons} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  COMMENT "Embedding the reasons of errors" VERBATIM)
target_sources(galley_cli PRIVATE ${reasons_source})
