# CPack runs this script when the files of each package are in their own folder, before it packs
# them.
find_program(GZIP gzip REQUIRED)
find_program(STRIP strip REQUIRED)

set(package_program galley)
set(package_library libgalley-dev)
set(package_syntax galley-syntax)
set(package_grpc galley-grpc)
set(package_nats galley-nats)
# The static program is intended (docs/adr/0022): a helper starts without the dynamic linker.
set(static_program galley-sandbox)
set(static_syntax galley-syntax)
# Programs link archives (docs/adr/0022).
set(with_zlib_program bin/galley)
set(with_zlib_nats libexec/galley/galley-serve-nats)

foreach(component ${CPACK_COMPONENTS_ALL})
  set(root "${CPACK_TEMPORARY_DIRECTORY}/${component}/usr")
  set(package ${package_${component}})
  set(documents "${root}/share/doc/${package}")
  file(MAKE_DIRECTORY "${documents}")

  file(READ "${CPACK_GALLEY_SOURCE_DIR}/cmake/copyright" copyright)
  file(WRITE "${documents}/copyright" "${copyright}")
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE "${documents}/changelog" "${package} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * What changed is in CHANGELOG.md of the sources.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  file(GLOB pages "${root}/share/man/man*/*.[1-9]")
  execute_process(COMMAND ${GZIP} -9nf "${documents}/changelog" ${pages} COMMAND_ERROR_IS_FATAL ANY)

  file(GLOB archives "${root}/lib/*.a" "${root}/lib/*/*.a")
  if(archives)
    execute_process(COMMAND ${STRIP} --strip-debug ${archives} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  foreach(program ${static_${component}})
    file(APPEND "${root}/share/lintian/overrides/${package}"
      "${package}: statically-linked-binary [usr/libexec/galley/${program}]\n")
  endforeach()
  foreach(program ${with_zlib_${component}})
    file(APPEND "${root}/share/lintian/overrides/${package}"
      "${package}: embedded-library zlib [usr/${program}]\n")
  endforeach()
  # Restore the modes that the umask of a build may have removed.
  file(GLOB_RECURSE files LIST_DIRECTORIES true "${root}/*")
  list(APPEND files "${root}")
  foreach(file ${files})
    if(IS_DIRECTORY "${file}" OR file MATCHES "/(bin|libexec/galley)/[^/]+$")
      file(CHMOD "${file}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
        GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    else()
      file(CHMOD "${file}" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    endif()
  endforeach()
endforeach()
