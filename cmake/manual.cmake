# The program prints its manual page and its shell completions, so they cannot differ from its help.
# A cross-compiled program cannot be run here.
if(NOT CMAKE_CROSSCOMPILING)
  set(manual ${PROJECT_BINARY_DIR}/manual)
  file(MAKE_DIRECTORY ${manual})
  add_custom_command(TARGET galley_program POST_BUILD
    COMMAND galley_program help --man > ${manual}/galley.1
    COMMAND galley_program completions bash > ${manual}/galley
    COMMAND galley_program completions zsh > ${manual}/_galley
    COMMAND galley_program completions fish > ${manual}/galley.fish
    COMMENT "Writing the manual page and the completions" VERBATIM)
  install(FILES ${manual}/galley.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    COMPONENT program)
  install(FILES ${manual}/galley
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
  # Debian's packages install completions here. Below another prefix, this is the folder that zsh
  # searches.
  if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(zsh_folder zsh/vendor-completions)
  else()
    set(zsh_folder zsh/site-functions)
  endif()
  install(FILES ${manual}/_galley DESTINATION ${CMAKE_INSTALL_DATADIR}/${zsh_folder}
    COMPONENT program)
  install(FILES ${manual}/galley.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
endif()
