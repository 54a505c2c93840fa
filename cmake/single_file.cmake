# galley_single builds the program as one file, single/galley (docs/adr/0086). It links the objects
# of galley_program, embeds galley-sandbox, and is stripped.
set(helper ${PROJECT_BINARY_DIR}/single/galley-sandbox)
add_custom_command(OUTPUT ${helper}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/single
  COMMAND ${CMAKE_STRIP} -o ${helper} $<TARGET_FILE:galley_sandbox>
  DEPENDS galley_sandbox VERBATIM)
add_executable(galley_single cli/main.cc ${first_objects} cmake/single_file.cc)
set_source_files_properties(cmake/single_file.cc PROPERTIES OBJECT_DEPENDS ${helper}
  COMPILE_DEFINITIONS "GALLEY_SANDBOX_FILE=\"${helper}\"")
set_target_properties(galley_single PROPERTIES OUTPUT_NAME galley
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/single)
target_link_libraries(galley_single PRIVATE galley_flags galley_cli)
target_link_options(galley_single PRIVATE -static-libstdc++ -static-libgcc -s -Wl,--gc-sections)
