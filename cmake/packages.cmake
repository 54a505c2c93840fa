# `make packages` (scripts/packages) makes Debian packages: the program, the library for programs
# that link it and, if their options are on, the program with the grammars and those that serve.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME galley)
set(CPACK_PACKAGE_VENDOR Galley)
set(CPACK_PACKAGE_CONTACT "The Galley authors <galley@localhost>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
# CPack puts any summary other than its own before the line of each package.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_NAME} built using CMake")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL program library)
if(GALLEY_SYNTAX)
  list(APPEND CPACK_COMPONENTS_ALL syntax)
endif()
if(GALLEY_WITH_GRPC)
  list(APPEND CPACK_COMPONENTS_ALL grpc)
endif()
if(GALLEY_WITH_NATS)
  list(APPEND CPACK_COMPONENTS_ALL nats)
endif()
# Every Debian package has these files: copyright, changelog, compressed manual pages.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_documents.cmake)
set(CPACK_GALLEY_SOURCE_DIR ${PROJECT_SOURCE_DIR})

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME galley)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION devel)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "transactional workspace editing engine
Puts patches, edit documents and tool calls on a workspace: all of a change
or none of it. Rules and validators judge a change before it is committed,
commands run on the proposed tree in a sandbox, and what was committed can
be undone.")
# It is loaded when something needs git (docs/adr/0003).
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "libgit2-1.5, git, libssl3")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "galley-syntax, curl, libfaketime")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libgalley-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "transactional workspace editing engine (library)
Headers, static libraries, and the files by which CMake and pkg-config find
them, for programs that stage, judge and commit changes of a workspace.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libexpected-dev, libfmt-dev, libyaml-cpp-dev, \
libpugixml-dev, libsqlite3-dev, libre2-dev, zlib1g-dev, libssl-dev")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS OFF)
# The library runs commands with the program galley-sandbox.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS galley)

set(CPACK_DEBIAN_SYNTAX_PACKAGE_NAME galley-syntax)
set(CPACK_DEBIAN_SYNTAX_PACKAGE_SECTION devel)
set(CPACK_COMPONENT_SYNTAX_DESCRIPTION "grammars for the validator `syntax' of Galley
Lets Galley judge the syntax of C, C++, Python, JavaScript, TypeScript and C#
without a toolchain, by Tree-sitter in a confined process.")
set(CPACK_DEBIAN_SYNTAX_PACKAGE_ENHANCES galley)
set(CPACK_DEBIAN_SYNTAX_PACKAGE_DEPENDS "galley (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_SYNTAX_PACKAGE_SHLIBDEPS OFF)  # the program is static

set(CPACK_DEBIAN_NATS_PACKAGE_NAME galley-nats)
set(CPACK_DEBIAN_NATS_PACKAGE_SECTION devel)
set(CPACK_COMPONENT_NATS_DESCRIPTION "NATS server and workers of Galley
Lets galley serve --nats serve the tools of a workspace, as Nachos calls them,
and lets galley worker, submit and jobs change branches of git repositories.")
set(CPACK_DEBIAN_NATS_PACKAGE_ENHANCES galley)
set(CPACK_DEBIAN_NATS_PACKAGE_DEPENDS "galley (= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_GRPC_PACKAGE_NAME galley-grpc)
set(CPACK_DEBIAN_GRPC_PACKAGE_SECTION devel)
set(CPACK_COMPONENT_GRPC_DESCRIPTION "gRPC server of Galley, for agents of aiOS
Lets galley serve --grpc serve the tools of a workspace. It has the protocol
files and a package for clients in Python.")
set(CPACK_DEBIAN_GRPC_PACKAGE_ENHANCES galley)
set(CPACK_DEBIAN_GRPC_PACKAGE_DEPENDS "galley (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_GRPC_PACKAGE_SUGGESTS "python3-grpcio, python3-protobuf")
include(CPack)
