# `cmake --install` installs the program, one static library for each room, and the headers of
# include/galley. It also installs the CMake package and the pkg-config file by which other projects
# find them.
include(CMakePackageConfigHelpers)

# The command line and its page are private to the program.
get_property(GALLEY_ROOMS GLOBAL PROPERTY GALLEY_ROOM_TARGETS)
list(REMOVE_ITEM GALLEY_ROOMS galley_cli galley_server galley_server_grpc galley_server_nats
  galley_engine_review galley_staging_sandbox_syntax_grammars)

# Programs link to this target. The top room brings all lower rooms.
add_library(galley INTERFACE)
add_library(Galley::galley ALIAS galley)
target_link_libraries(galley INTERFACE galley_engine_pipeline)
target_compile_features(galley INTERFACE cxx_std_20)
# This target is for tests of programs and tools (CONTRIBUTING.md).
add_library(Galley::testing ALIAS galley_testing)
set_target_properties(galley_testing PROPERTIES EXPORT_NAME testing)
target_include_directories(galley_testing PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(galley_testing PUBLIC cxx_std_20)
target_include_directories(galley INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(TARGETS galley galley_crypto ${GALLEY_ROOMS} EXPORT GalleyTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(EXPORT GalleyTargets NAMESPACE Galley::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Galley COMPONENT library)
# Only the public interface is installed (docs/library.md).
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/galley
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library FILES_MATCHING PATTERN "*.h")

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/GalleyConfig.cmake.in
  ${PROJECT_BINARY_DIR}/GalleyConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Galley)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/GalleyConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/GalleyConfig.cmake
  ${PROJECT_BINARY_DIR}/GalleyConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Galley COMPONENT library)

# A static linker reads from left to right, so the highest room comes first.
set(GALLEY_PC_ROOMS "")
foreach(room ${GALLEY_ROOMS})
  if(room STREQUAL "galley_testing")
    continue()  # programs do not link to it
  endif()
  get_target_property(type ${room} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    string(PREPEND GALLEY_PC_ROOMS "-l${room} ")
  endif()
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/galley.pc.in ${PROJECT_BINARY_DIR}/galley.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/galley.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT library)
