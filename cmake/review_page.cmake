# The page of engine/review is embedded in the program, so that a report needs no other files.
set(page ${PROJECT_SOURCE_DIR}/engine/review/page)
set(scripts "")
foreach(name text words syntax rows view keys decide main)
  list(APPEND scripts ${page}/${name}.js)
endforeach()
list(JOIN scripts "+" script)
set(page_source ${PROJECT_BINARY_DIR}/generated/review_page_sources.cc)
add_custom_command(OUTPUT ${page_source}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${page_source} -DHEADER=engine/review/review_page.h
    -DNAMESPACE=galley::page_sources
    "-DTEXTS=Document=${page}/review.html|Style=${page}/review.css|Script=${script}"
    -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${page}/review.html ${page}/review.css ${scripts}
    ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  COMMENT "Embedding the review page" VERBATIM)
target_sources(galley_engine_review PRIVATE ${page_source})
