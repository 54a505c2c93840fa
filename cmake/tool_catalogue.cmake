# The catalogue of tools is embedded in the program. tools/catalogue.cc reads it on demand.
set(catalogue_source ${PROJECT_BINARY_DIR}/generated/tool_catalogue.cc)
set(catalogue_texts "")
set(catalogue_files "")
foreach(name Native Peers Aios Nachos Gemini Tenex Git Profiles)
  string(TOLOWER ${name} file)
  set(file ${PROJECT_SOURCE_DIR}/tools/catalogue/${file}.json)
  list(APPEND catalogue_files ${file})
  list(APPEND catalogue_texts "${name}=${file}")
endforeach()
list(JOIN catalogue_texts "|" catalogue_texts)
add_custom_command(OUTPUT ${catalogue_source}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${catalogue_source} -DHEADER=tools/catalogue.h
    -DNAMESPACE=galley::catalogue_text "-DTEXTS=${catalogue_texts}"
    -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${catalogue_files} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  COMMENT "Embedding the catalogue of tools" VERBATIM)
target_sources(galley_tools PRIVATE ${catalogue_source})
