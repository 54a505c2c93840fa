# cmake -DOUTPUT=<file.cc> -DHEADER=<its header> -DNAMESPACE=<n> -DTEXTS=<name=file+file|…> -P embed.cmake
#   Writes a source that contains each text as bytes. Several files with one name become one text.
set(content "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\nnamespace {\n")
string(REPLACE "|" ";" texts "${TEXTS}")
set(names "")
foreach(text ${texts})
  string(REGEX MATCH "^([A-Za-z]+)=(.*)$" matched "${text}")
  set(name ${CMAKE_MATCH_1})
  string(REPLACE "+" ";" files "${CMAKE_MATCH_2}")
  set(bytes "")
  foreach(file ${files})
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    # Of JSON, neither line breaks with indentation nor the blanks between two strings.
    if(file MATCHES "\\.json$")
      string(REGEX REPLACE "0x0a,(0x20,)*" "" hex "${hex}")
      string(REPLACE "0x22,0x2c,0x20,0x22," "0x22,0x2c,0x22," hex "${hex}")
    endif()
    string(APPEND bytes "${hex}")
  endforeach()
  # Keep lines short enough for compilers and people.
  string(REGEX REPLACE "(................................................................................)"
    "\\1\n" bytes "${bytes}")
  string(APPEND content "constexpr unsigned char k${name}Bytes[] = {\n${bytes}};\n")
  list(APPEND names ${name})
endforeach()
string(APPEND content "}  // namespace\n\n")
foreach(name ${names})
  string(APPEND content "const std::string_view k${name}(reinterpret_cast<const char*>(k${name}Bytes),\n"
    "                                sizeof k${name}Bytes);\n")
endforeach()
string(APPEND content "}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUTPUT} "${content}")
