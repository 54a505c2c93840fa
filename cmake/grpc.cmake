# Builds galley-serve-grpc (docs/grpc.md). The generated code is a library of its own, without the
# warnings of this project.
pkg_check_modules(GRPC REQUIRED IMPORTED_TARGET grpc++ protobuf)
find_program(GALLEY_PROTOC protoc REQUIRED)
find_program(GALLEY_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

set(grpc_generated ${PROJECT_BINARY_DIR}/generated/grpc)
file(MAKE_DIRECTORY ${grpc_generated})
set(grpc_sources "")
foreach(proto aios_tools galley/v1/transactions)
  set(outputs ${grpc_generated}/${proto}.pb.cc ${grpc_generated}/${proto}.grpc.pb.cc)
  add_custom_command(OUTPUT ${outputs}
    BYPRODUCTS ${grpc_generated}/${proto}.pb.h ${grpc_generated}/${proto}.grpc.pb.h
    COMMAND ${GALLEY_PROTOC} -I ${PROJECT_SOURCE_DIR}/server/grpc --cpp_out ${grpc_generated}
      --grpc_out ${grpc_generated} --plugin protoc-gen-grpc=${GALLEY_GRPC_CPP_PLUGIN} ${proto}.proto
    DEPENDS ${PROJECT_SOURCE_DIR}/server/grpc/aios_tools.proto
      ${PROJECT_SOURCE_DIR}/server/grpc/${proto}.proto
    VERBATIM)
  list(APPEND grpc_sources ${outputs})
  get_filename_component(folder ${proto} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/server/grpc/${proto}.proto
    DESTINATION ${CMAKE_INSTALL_DATADIR}/galley/proto/${folder} COMPONENT grpc)
endforeach()
add_library(galley_grpc_messages STATIC ${grpc_sources})
target_include_directories(galley_grpc_messages SYSTEM PUBLIC ${grpc_generated})
target_link_libraries(galley_grpc_messages PUBLIC PkgConfig::GRPC grpc++_reflection)
target_compile_options(galley_grpc_messages PRIVATE -w)

target_link_libraries(galley_server_grpc PUBLIC galley_grpc_messages)

add_executable(galley_serve_grpc server/grpc/main.cc)
set_target_properties(galley_serve_grpc PROPERTIES OUTPUT_NAME galley-serve-grpc)
target_link_libraries(galley_serve_grpc PRIVATE galley_flags galley_server_grpc)
# gRPC uses these as shared objects. If they come first, the linker takes nothing from their
# archives, of which a second copy would mix with them.
target_link_options(galley_serve_grpc PRIVATE
  -Wl,--push-state,--no-as-needed -lcrypto -lre2 -lz -Wl,--pop-state)
add_dependencies(galley_serve_grpc galley_sandbox)
install(TARGETS galley_serve_grpc RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/galley
  COMPONENT grpc)

# The Python side: the package, and the messages that it imports.
set(grpc_python ${PROJECT_BINARY_DIR}/generated/python)
file(MAKE_DIRECTORY ${grpc_python})
add_custom_command(OUTPUT ${grpc_python}/aios_tools_pb2.py
  COMMAND ${GALLEY_PROTOC} -I ${PROJECT_SOURCE_DIR}/server/grpc --python_out ${grpc_python}
    aios_tools.proto
  DEPENDS ${PROJECT_SOURCE_DIR}/server/grpc/aios_tools.proto VERBATIM)
add_custom_target(galley_grpc_python ALL DEPENDS ${grpc_python}/aios_tools_pb2.py)
install(FILES ${grpc_python}/aios_tools_pb2.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/galley/python COMPONENT grpc)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/galley_aios
  DESTINATION ${CMAKE_INSTALL_DATADIR}/galley/python COMPONENT grpc
  FILES_MATCHING PATTERN "*.py")
