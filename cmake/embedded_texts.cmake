# galley_embed(<room> <header> <namespace> <name=file+file…>…)
#   Embeds files in the library of a room. The header declares each text: <namespace>::k<name>.
#   Several files with one name become one text.
function(galley_embed room header namespace)
  set(embed ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
  set(source ${PROJECT_BINARY_DIR}/generated/${namespace}.cc)
  set(texts "")
  set(all_files "")
  foreach(text ${ARGN})
    string(REGEX MATCH "^([A-Za-z]+)=(.*)$" matched "${text}")
    set(name ${CMAKE_MATCH_1})
    string(REPLACE "+" ";" files "${CMAKE_MATCH_2}")
    list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/)
    list(APPEND all_files ${files})
    list(JOIN files "+" files)
    list(APPEND texts "${name}=${files}")
  endforeach()
  list(JOIN texts "|" texts)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${source} -DHEADER=${header}
      -DNAMESPACE=galley::${namespace} "-DTEXTS=${texts}" -P ${embed}
    DEPENDS ${all_files} ${embed}
    COMMENT "Embedding ${namespace}" VERBATIM)
  string(REPLACE "/" "_" target galley_${room})
  target_sources(${target} PRIVATE ${source})
endfunction()
