// The assembler embeds these programs in the single-file program (cmake/single_file.cmake).
#include "staging/sandbox/embedded_programs.h"

__asm__(
    ".section .rodata\n"
    ".balign 16\n"
    "galley_sandbox_begin:\n"
    ".incbin \"" GALLEY_SANDBOX_FILE
    "\"\n"
    "galley_sandbox_end:\n"
    ".previous\n");

extern "C" const char galley_sandbox_begin[];
extern "C" const char galley_sandbox_end[];

namespace galley {

std::span<const EmbeddedProgram> embedded_programs() {
  static const EmbeddedProgram programs[] = {
      {"galley-sandbox",
       {galley_sandbox_begin, static_cast<size_t>(galley_sandbox_end - galley_sandbox_begin)}}};
  return programs;
}

}  // namespace galley
